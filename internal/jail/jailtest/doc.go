// Package jailtest is the suite that every wall must pass.
//
// [Escape] tries to get out, in ten classes of at least eight attempts that
// differ in system call or mechanism, in both profiles; each first succeeds
// outside and must fail inside with the errno the boundary promises, and
// nothing outside may have changed. [Hold] tries the promises of
// [jail.Process] and [jail.Limits], [Quarantine] what a run may leave behind,
// [Work] that honest work still succeeds. A wall's own tests call them, with
// [Main] in TestMain; they run as root and as an ordinary user.
package jailtest
