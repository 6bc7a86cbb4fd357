package name

import (
	"strings"
	"testing"
)

func TestNamesAreReadByTheirWords(t *testing.T) {
	for name, want := range map[string]bool{
		"password": true, "token": true, "secret": true, "api_key": true, "auth": true, "credential": true,
		"apiKey": true, "APIKey": true, "API_KEY": true, "x-api-key": true, "clientSecret": true, "AWS_SECRET_ACCESS_KEY": true, "dbPassword": true, "db.password": true,
		"authToken": true, "private_key": true, "userCredentials": true, "PGPASSWORD": true, "passwd": true, "MYSQL_PWD": true, "dbpassword": true, "db_pass": true,
		"GITHUB_TOKEN": true, "GITHUB_TOKEN_READONLY": true, "secret_id": true, "SECRET_KEY_BASE": true, "password1": true, "new_password": true, "password_hash": true, "token_value": true,
		"_authToken": true, "Authorization": true, "Set-Cookie": true, "credentials": true, "tokens": true, "encryption_key": true, "AccountKey": true, "passphrase": true,
		"author": false, "authority": false, "max_tokens": false, "token_count": false, "tokenType": false, "secret_name": false, "auth_url": false, "prompt_tokens": false,
		"tokens_used": false, "cache_read_input_tokens": false, "tokenize": false, "tokenizer": false, "key": false, "keyboard": false, "password_policy": false, "api": false,
		"monkey": false, "public_key": false, "primary_key": false, "has_password": false, "show_password": false, "token_expires_at": false, "auth_test.go": false, "secretary": false,
		"pass": false, "bypass": false, "compass": false, "credential_type": false, "auth_required": false, "tokenSource": false, "": false, "id": false, "access_key_id": false,
	} {
		if got := Of(name).Secret(); got != want {
			t.Errorf("%q is sensitive: %v, want %v", name, got, want)
		}
	}
}

func TestHeadersAndCookiesAreTold(t *testing.T) {
	for name, want := range map[string]Meaning{
		"Authorization": Header, "proxy-authorization": Header, "Cookie": Cookie, "Set-Cookie": Cookie, "cookie_token": Weak, "token": Weak, "password": Strong, "auth_password": Strong,
	} {
		if got := Of(name); got != want {
			t.Errorf("Of(%q) = %v, want %v", name, got, want)
		}
	}
}

// TestEveryCoreWordIsSuspect: Suspect is what lets most text pass unread.
func TestEveryCoreWordIsSuspect(t *testing.T) {
	for _, set := range []map[string]Meaning{sets().core, sets().soft} {
		for w := range set {
			if !Suspect(w) || !Suspect(strings.ToUpper(w)) || !Suspect("x "+w+" y") {
				t.Errorf("%s is not suspect", w)
			}
		}
	}
	for w := range sets().keyed {
		if !Suspect(w + "Key") {
			t.Errorf("%sKey is not suspect", w)
		}
	}
}

func FuzzSensitiveNamesAreSuspect(f *testing.F) {
	for _, s := range []string{"password", "maxTokens", "API_KEY", "x-auth-token", "APIKey2", "éPassword", "a.b.secret", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if Of(s) != Plain && (!Suspect(s) || len(s) > Max) {
			t.Errorf("%q is sensitive and not suspect", s)
		}
		if Of(s) != Of("_"+s+"_") && len(s) < Max-2 {
			t.Errorf("%q means another thing between underscores", s)
		}
	})
}

func BenchmarkPlainName(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		Of("request_duration_ms")
	}
}

func BenchmarkSensitiveName(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		Of("AWS_SECRET_ACCESS_KEY")
	}
}
