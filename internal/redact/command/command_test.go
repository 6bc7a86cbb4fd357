package command

import "testing"

func TestTheProgramAndItsVerbDecideWhatAFlagIsGiven(t *testing.T) {
	for _, c := range []struct {
		line, flag string
		part       Part
		glued      int
	}{
		{"docker login -u me ", "-p", Whole, 0},
		{"docker run ", "-p", None, 0},
		{"docker login && docker run ", "-p", None, 0},
		{"mydocker login ", "-p", None, 0},
		{"docker-compose login ", "-p", None, 0},
		{"echo 'a; b' ; sudo docker login ", "-p", Whole, 0},
		{"/usr/bin/sshpass ", "-phunter", Whole, 2},
		{"mysql -u root ", "-p", Whole, 2}, // the secret may begin with a quote
		{"mysqldump ", "-phunter", Whole, 2},
		{"mysql x | grep ", "-pattern", None, 0},
		{"curl -H 'A: b; c' 'https://h/?a=1&b=2' ", "-u", AfterColon, 0},
		{"curl x 2>&1 ", "-u", AfterColon, 0},
		{"curl.exe ", "--user", AfterColon, 0},
		{"curl ", "-fsSLu", AfterColon, 0},
		{"curl ", "-kL", None, 0},
		{"http://h ", "-a", None, 0},
		{"openssl rsa ", "-passin", AfterPass, 0},
		{"", "-p", None, 0}, {"x", "", None, 0}, {"x", "-", None, 0},
	} {
		part, glued := Flag(c.line, c.flag)
		if part != c.part || glued != c.glued {
			t.Errorf("%q %q: %d, %d, want %d, %d", c.line, c.flag, part, glued, c.part, c.glued)
		}
		if part != None && (!Suspect(c.flag) || !Names(c.line)) {
			t.Errorf("%q %q is not suspect", c.line, c.flag)
		}
	}
}

func TestThePartOfAWord(t *testing.T) {
	for _, c := range []struct {
		part Part
		word string
		from int
		ok   bool
	}{
		{Whole, "x", 0, true}, {Whole, "", 0, false},
		{AfterColon, "u:p", 2, true}, {AfterColon, ":p", 1, true}, {AfterColon, "u", 2, false}, {AfterColon, "u:", 2, false}, {AfterColon, "http://h", 5, false},
		{AfterPercent, `d\u%p`, 4, true}, {AfterPercent, "u", 2, false},
		{AfterPass, "pass:p", 5, true}, {AfterPass, "env:P", 5, false}, {AfterPass, "pass:", 5, false},
		{None, "x", 0, false},
	} {
		if from, ok := c.part.Secret(c.word); ok != c.ok || ok && from != c.from {
			t.Errorf("%d of %q: %d, %v", c.part, c.word, from, ok)
		}
	}
}

func TestTheWordThatIsSecretByItsPlace(t *testing.T) {
	for _, c := range []struct {
		words []string
		want  int
	}{
		{[]string{"htpasswd", "-b", "f", "u", "x"}, 4},
		{[]string{"/usr/bin/htpasswd", "-c", "-bB", "-C", "10", "f", "u", "x"}, 7},
		{[]string{"htpasswd", "-nb", "u", "x"}, 3},
		{[]string{"htpasswd", "-c", "f", "u"}, -1},
		{[]string{"net", "use", "Z:", `\\h\s`, "x", "/user:u"}, 4},
		{[]string{"NET", "USE", `\\h\s`, "/user:u", "x"}, 4},
		{[]string{"net", "use", "Z:", `\\h\s`, "*"}, -1},
		{[]string{"net", "use", "it", "well"}, -1},
		{[]string{"net", "user", "u", "x", "/add"}, 3},
		{[]string{"net", "user", "u", "x"}, 3},
		{[]string{"net", "user", "count", "grew", "again"}, -1},
		{nil, -1},
	} {
		if got := Operand(c.words); got != c.want {
			t.Errorf("%q: %d, want %d", c.words, got, c.want)
		}
	}
}
