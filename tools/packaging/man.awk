# The output of `adept COMMAND --help` as a manual page. Variables: command ("" for adept itself), version, summary, commands.
# Sections of the help: "Usage: ...", a description, groups of options (" Title:", then lines that begin with blanks and '-'), and after
# them paragraphs and lists (a line that ends with ':', then lines indented by two).

function escape(text) {
    gsub(/\\/, "\\e", text)
    gsub(/-/, "\\-", text)
    gsub(/'/, "\\(aq", text)
    return text
}
function text_line(text) { # no line of text may be taken for a request
    sub(/^[ \t]+/, "", text)
    text = escape(text)
    print (text ~ /^[.]/ ? "\\&" : "") text
}
function section(title) {
    if (current != title) print ".SH " title
    current = title
    in_list = 0
}
function close_list() {
    if (in_list == 1) print ".fi\n.RE"
    in_list = 0
}
# " -o, --output=FILE        Where ..." : the option in bold, what stands for a value in italics
function option_line(line,    n, option, rest) {
    sub(/^ +/, "", line)
    n = match(line, /  +/)
    option = n ? substr(line, 1, n - 1) : line
    rest = n ? substr(line, n + RLENGTH) : ""
    gsub(/=/, "\\fR=\\fI", option)
    gsub(/-/, "\\-", option)
    gsub(/, /, "\\fR, \\fB", option)
    print ".TP\n\\fB" option "\\fR"
    if (rest != "") text_line(rest)
}

BEGIN {
    name = command == "" ? "adept" : "adept-" command
    printf ".TH %s 1 \"\" \"adept %s\" \"User Commands\"\n", toupper(name), version
    print ".SH NAME\n" escape(name) " \\- " escape(summary)
}
/^Usage: / {
    sub(/^Usage: /, "")
    section("SYNOPSIS")
    print ".nf"
    print escape($0)
    in_usage = 1
    next
}
in_usage && /^    +[^ ]/ { # the usage, continued
    sub(/^ +/, "")
    print "    " escape($0)
    next
}
in_usage {
    print ".fi"
    section("DESCRIPTION")
    in_usage = 0
}
/^  or:/ { next }
/^$/ { close_list(); blank = 1; rest_is_codes = 0; next }
/^ [^ -].*:$/ { # a group of options
    section("OPTIONS")
    title = $0
    sub(/^ /, "", title); sub(/:$/, "", title)
    print ".SS " escape(title)
    blank = 0
    next
}
/^(  |      )-/ {
    section("OPTIONS")
    option_line($0)
    blank = 0
    after_option = 1
    next
}
/^                    / { text_line($0); next } # what an option means, continued
/^Exit codes:/ { rest_is_codes = 1 } # in a section of their own below
rest_is_codes { next }
/^(Examples|[A-Z][A-Za-z ]*):$/ {
    title = $0
    sub(/:$/, "", title)
    section(toupper(title))
    in_list = 2 # opened by its first line
    blank = 0
    next
}
/^  / {
    if (in_list != 1) { print ".RS 4\n.nf"; in_list = 1 }
    text_line($0)
    blank = 0
    next
}
{
    close_list()
    if (after_option) { section("NOTES"); after_option = 0; blank = 0 }
    if (blank) print ".PP"
    text_line($0)
    blank = 0
}
END {
    close_list()
    print ".SH \"EXIT STATUS\""
    print "0 done, 1 internal failure, 2 wrong usage, 3 bad input file, 4 operator not supported, 5 fit failed, 6 unknown GPU, 7 a check failed."
    print ".SH \"SEE ALSO\""
    n = split(commands, list, " ")
    first = 1
    for (i = 0; i <= n; i++) {
        if (list[i] == command || (i == 0 && command == "")) continue
        if (i > 0 && list[i] == "") continue
        printf "%s.BR %s (1)", first ? "" : ",\n", i == 0 ? "adept" : "adept\\-" list[i]
        first = 0
    }
    print ",\n.BR libadept (3)"
}
