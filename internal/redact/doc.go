// Package redact masks what is secret in text before it is stored, shown or
// given on, and makes invisible characters visible for people.
//
// A [Redactor] knows three signs of a secret. A name that says so: password,
// token, secret, api_key, auth, credential and what is put together with them
// (contract G34), in JSON, in assignments, headers, flags, URLs and elements.
// A shape: the known forms of keys and tokens, private keys, URL passwords
// (G33). And the exact values that Reeve itself holds, in their raw, JSON, URL,
// base64 and hex forms. Each becomes [Mark]; where a shape tells the kind, the
// mark says it, as in [REDACTED:github-token#3f2a] (see package mark).
//
// Promises, each fuzzed: masking twice is masking once; valid JSON stays valid
// JSON; no added secret survives; a [Writer] fed in any pieces writes what
// [Redactor.Text] gives for the whole.
//
// What it does not promise: a secret without a telling name, a known shape or
// a known value looks like any other word; so does one that was encrypted,
// compressed, or split on purpose. A miss costs more than a blot, so the rules
// lean to masking; placeholders ($X, ${X}, {{x}}, <x>, ***) stay by their form
// and never by a list of words such as example or fake.
//
// # How it looks
//
// One pass, led by single bytes: '=' and ':' (what stands before them is the
// name), '-' (flags and PEM), '>' (elements), and by the first three bytes of a
// known shape. Each leads to hand-written code that looks at most [look] bytes
// ahead and [back] bytes behind, and decides there. A decision starts a span
// that goes on as long as its class of characters does. Nothing depends on
// more than that, which is what makes a stream equal to the whole.
//
// A [Stream] does not know how long it keeps back what may begin a secret;
// package timely gives it a clock, and makes it [Stream.Hasten].
//
// The package is pure: it knows neither clock, disk nor network.
package redact
