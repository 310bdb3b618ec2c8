# The public headers as libadept(3): every declaration with the comment before it. Variable: version.

function escape(text) {
    gsub(/\\/, "\\e", text)
    gsub(/-/, "\\-", text)
    gsub(/'/, "\\(aq", text)
    return text
}
# A comment without its stars; "@param x  text" and "@return text" become paragraphs.
function comment_text(raw,    n, lines, i, line, out) {
    sub(/^\/\*\*?/, "", raw)
    sub(/\*\/[ \t]*$/, "", raw)
    gsub(/ @param /, "\n@param ", raw)
    gsub(/ @return /, "\n@return ", raw)
    n = split(raw, lines, "\n")
    out = ""
    for (i = 1; i <= n; i++) {
        line = lines[i]
        sub(/^[ \t]*\*?[ \t]*/, "", line)
        if (line == "") { if (out != "") out = out ".PP\n"; continue }
        line = escape(line)
        if (line ~ /^@param /) {
            sub(/^@param +/, "", line)
            word = line
            sub(/ .*/, "", word)
            sub(/^[^ ]+ */, "", line)
            out = out ".TP\n.I " word "\n" line "\n"
        } else if (line ~ /^@return /) {
            sub(/^@return +/, "", line)
            out = out ".TP\nReturns\n" line "\n"
        } else if (line ~ /^(Thread\\-safe|The same|No allocation)/ && out ~ /\.TP\n/) {
            out = out ".PP\n" line "\n"
        } else {
            if (line ~ /^[.]/) line = "\\&" line
            out = out line "\n"
        }
    }
    gsub(/(\.PP\n)+\.TP/, ".TP", out)
    sub(/(\.PP\n)+$/, "", out)
    return out
}

function subsection(title) {
    print ".SS " title
    fresh = 1
}
function explain(comment,    text) {
    text = comment_text(comment)
    if (text == "") return
    if (text !~ /^\.TP/) paragraph()
    fresh = 0
    printf "%s", text
}
function paragraph() {
    if (!fresh) print ".PP"
    fresh = 0
}

function code(text,    n, lines, i) {
    paragraph()
    print ".nf"
    n = split(text, lines, "\n")
    for (i = 1; i <= n; i++)
        if (lines[i] != "") print (lines[i] ~ /^[.]/ ? "\\&" : "") escape(lines[i])
    print ".fi"
}

function head(title, text) {
    print ".SH \"" title "\""
    if (text != "") printf "%s", comment_text(text)
}

BEGIN {
    printf ".TH LIBADEPT 3 \"\" \"adept %s\" \"Library Functions\"\n", version
    print ".SH NAME\nlibadept \\- time, power and energy of a deep\\-learning step before it runs"
    print ".SH SYNOPSIS\n.nf\n#include <adept/adept.h>\n\ncc \\-std=c11 program.c $(pkg\\-config \\-\\-cflags \\-\\-libs adept)\n.fi"
    print ".SH DESCRIPTION"
    print "A workload (a saved profile or a torch.export file) and a GPU make an oracle, which predicts steps on any number of GPUs, under any power"
    print "limit or clock, without allocating; adept_choose() takes the best of the predictions under constraints."
    print ".PP\nFunctions return a status, 0 on success, and fill the caller's error record, which may be NULL. The library never prints, exits, forks or"
    print "starts a thread. Handles are immutable and may be shared by threads; each function says what it allows. Set structures to zero before"
    print "filling them: reserved members must be 0. Units are SI and part of every name."
}

FNR == 1 { comment = ""; declaration = ""; skipping = 1; next }
# The file's own comment, preprocessor lines and extern "C" are not for the reader.
skipping && /\*\// { skipping = 0; next }
skipping && /^#/ { skipping = 0 }
skipping { next }
/^#ifdef __cplusplus/ || /^#if defined/ { in_cpp = 1; next }
/^#endif/ { in_cpp = 0; next }
in_cpp { next }
/^#define ADEPT_ABI_VERSION/ {
    head("VERSIONS", comment)
    code($0)
    comment = ""
    next
}
/^#define ADEPT_STATUS_LIST/ { head("STATUSES", ""); in_list = 1; comment = ""; print "Statuses begin with ADEPT_; the number is the exit code of the command line."; next }
/^#define ADEPT_CONSTRAINT_LIST/ { comment = ""; in_list = 1; print ".PP\nConstraints begin with ADEPT_CONSTRAINT_; the number is their bit."; next }
in_list && /^    X\(/ {
    line = $0
    sub(/^    X\(/, "", line)
    gsub(/["\\)]/, "", line)
    n = split(line, part, /, */)
    text = part[3]
    sub(/ +$/, "", text)
    print ".TP\n.B " escape(part[1]) "\n" escape(text) " (" part[2] ")"
    if ($0 !~ /\\$/) in_list = 0
    next
}
/^#/ { next }
/^typedef enum adept_status/ || /^#define X/ { in_x = 1 }
in_x { if (/^}/) in_x = 0; next }
/^enum \{$/ { in_enum = 1; enum_text = ""; }
in_enum {
    if (/^#/ || /ADEPT_CONSTRAINT_/) { next }
    enum_text = enum_text $0 "\n"
    if (/^};/) {
        in_enum = 0
        if (enum_text ~ /NOTE/) { explain(comment); code(enum_text) }
        comment = ""
    }
    next
}
/^\/\*/ { comment = $0; in_comment = !/\*\//; next }
in_comment { comment = comment "\n" $0; if (/\*\//) in_comment = 0; next }
/^typedef struct [a-z_]+ [a-z_]+;/ || /^enum \{ / {
    explain(comment)
    code($0)
    comment = ""
    next
}
/^typedef struct/ { declaration = $0; in_struct = 1; next }
in_struct {
    declaration = declaration "\n" $0
    if (/^}/) {
        name = $2
        sub(/;/, "", name)
        in_struct = 0
        subsection("\"struct " name "\"")
        explain(comment)
        code(declaration)
        comment = declaration = ""
    }
    next
}
/^ADEPT_API/ { declaration = ""; in_function = 1 }
in_function {
    line = $0
    sub(/^ADEPT_API /, "", line)
    sub(/^ +/, "    ", line)
    declaration = declaration (declaration == "" ? "" : "\n") line
    if (/;/) {
        in_function = 0
        name = declaration
        sub(/\(.*/, "", name)
        sub(/.*[ *]/, "", name)
        tail = ""
        if (match(declaration, /\/\*.*\*\//)) {
            tail = substr(declaration, RSTART, RLENGTH)
            declaration = substr(declaration, 1, RSTART - 1)
        }
        subsection(name "()")
        code(declaration)
        explain(comment == "" ? tail : comment)
        comment = declaration = ""
    }
    next
}

END {
    print ".SH \"SEE ALSO\"\n.BR adept (1),\n.BR adept\\-profile (1)"
}
