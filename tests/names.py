"""No two types, enumerators or macros share a name, where a header defines one of them or it begins with adept_.

usage: names.py COMPILE_COMMANDS SOURCE_DIRECTORY      (the compile_commands.json of a build tree)
Headers are read as the build's own preprocessor leaves them, so that lists of names (X macros) count; sources as they stand, since what
is theirs alone may be called as they like. A macro that its header undefines again is nobody's. Doubles are planted to see them found.
"""
import collections
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile

NOISE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def expanded(row, headers):
    """header: its lines behind the preprocessor of a row of compile_commands.json"""
    words = [word for word in shlex.split(row["command"]) if word != "-c"]
    at = words.index("-o")
    del words[at:at + 2]
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "all" + os.path.splitext(row["file"])[1])
        with open(source, "w", encoding="utf-8") as file:
            file.writelines('#include "%s"\n' % header for header in headers)
        words = [source if os.path.join(row["directory"], word) == row["file"] else word for word in words]
        text = subprocess.run(words + ["-E", "-dD"], cwd=row["directory"], stdout=subprocess.PIPE, text=True, check=True).stdout
    lines, at = {header: [] for header in headers}, None
    for line in text.splitlines():
        marker = re.match(r'# \d+ "([^"]*)"', line)
        if marker:
            at = os.path.normpath(os.path.join(row["directory"], marker.group(1)))
        elif at in lines:
            lines[at].append(line)
    return {header: "\n".join(found) for header, found in lines.items()}


def macros(text):
    """Those that are defined in the end."""
    names = set()
    for what, name in re.findall(r"^#(define|undef) (\w+)", text, re.M):
        (names.add if what == "define" else names.discard)(name)
    return names


def types(text):
    """Tags and names of types that have contents, and enumerators. typedef struct x x; has none."""
    text = re.sub(r"^[ \t]*#(?:.*\\\n)*.*", "", NOISE.sub('""', text), flags=re.M)
    names = set()
    for found in re.finditer(r"\b(struct|union|enum)\s*(\w*)\s*\{", text):
        depth, end = 1, found.end()
        while depth and end < len(text):
            depth += (text[end] == "{") - (text[end] == "}")
            end += 1
        names.add(found.group(2))
        if re.search(r"\btypedef\s+$", text[:found.start()]):
            names.add(re.match(r"\W*(\w*)", text[end:]).group(1))
        if found.group(1) == "enum":
            names |= {re.match(r"\s*(\w*)", item).group(1) for item in text[found.end():end - 1].split(",")}
    for found in re.findall(r"\btypedef\s[^;{}]*;", text):
        if not re.match(r"typedef\s+(?:struct|union|enum)\s+(\w+)\s+\1\s*;", found):
            name = re.search(r"\(\s*\*\s*(\w+)\s*\)", found) or re.search(r"(\w+)\s*(?:\(.*\)|\[.*\]|)\s*;$", found, re.S)
            names.add(name.group(1))
    return names - {""}


def doubles(headers, sources):
    """name: files that define it"""
    where = collections.defaultdict(set)
    for path, text in headers.items():
        for name in macros(text) | types(text):
            where[name].add(path)
    for path, text in sources.items():
        for name in types(text):
            if name in where or name.lower().startswith("adept_"):
                where[name].add(path)
    return {name: sorted(paths) for name, paths in where.items() if len(paths) > 1}


PLANTED = {
    "one.h": """#ifndef ADEPT_ONE_H
#define ADEPT_ONE_H
#define X(name) ONE_##name,
typedef enum one_kind { X(A) X(B) SHARED_LAST } one_kind;
#undef X
typedef struct shared_tag { int a; /* } */ } one_tag;
typedef struct { int a; } shared_type;
typedef int (*shared_call)(int a);
typedef int shared_function(int a);
typedef double shared_array[2];
typedef struct opaque opaque;
#define SHARED_MACRO 1
#endif
""",
    "two.h": """#ifndef ADEPT_TWO_H
#define ADEPT_TWO_H
#define X(name) ONE_##name,
enum two_kind { X(B) X(C) SHARED_LAST = 3 };
#undef X
struct shared_tag { double a; };
typedef union { double a; } shared_type;
typedef double shared_call;
typedef struct opaque *shared_function;
typedef struct opaque shared_array;
typedef struct opaque opaque;
#define SHARED_MACRO 1
#define ADEPT_ONE_H_
#endif
""",
    "three.c": "struct opaque { int a; };\ntypedef struct row { int a; } row;\nstruct shared_by_sources { int a; };\n"
               "typedef struct adept_by_sources { int a; } adept_by_sources;\nenum one_kind { MINE };\n",
    "four.c": "#include <stddef.h>\ntypedef struct row { double a; } row;\nstruct adept_by_sources { double a; };\n",
}
FOUND = {"ONE_B", "SHARED_LAST", "shared_tag", "shared_type", "shared_call", "shared_function",
         "shared_array", "SHARED_MACRO", "one_kind", "adept_by_sources"}


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        commands = json.load(file)
    top = os.path.abspath(sys.argv[2])
    rows = {}
    for row in commands:
        folder = os.path.dirname(os.path.relpath(row["file"], top))
        if not folder.startswith(("..", "tests", os.path.relpath(os.path.dirname(sys.argv[1]), top))):
            rows.setdefault(folder, row)
    files = {}
    for folder in rows:
        places = [os.path.join(top, folder, part) for part in ("", "include", "include/adept", "public/adept", "torch")]
        files[folder] = [os.path.join(place, name) for place in places if os.path.isdir(place) for name in sorted(os.listdir(place))]
    headers, sources = {}, {}
    for folder, row in rows.items():
        headers.update(expanded(row, [path for path in files[folder] if path.endswith(".h")]))
        for path in files[folder]:
            if path.endswith(".c"):
                with open(path, encoding="utf-8") as file:
                    sources[path] = file.read()
    failed = ["%s: %s" % (name, ", ".join(os.path.relpath(path, top) for path in paths))
              for name, paths in sorted(doubles(headers, sources).items())]
    failed += ["%s: nothing is read of it" % os.path.relpath(path, top) for path, text in headers.items() if not types(text) | macros(text)]
    with tempfile.TemporaryDirectory() as folder:
        for name, text in PLANTED.items():
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        planted = expanded(next(iter(rows.values())), [os.path.join(folder, name) for name in ("one.h", "two.h")])
    found = set(doubles(planted, {name: text for name, text in PLANTED.items() if name.endswith(".c")}))
    failed += ["planted: %s is not found" % name for name in sorted(FOUND - found)]
    failed += ["planted: %s is no double" % name for name in sorted(found - FOUND)]
    for line in failed:
        print("names: " + line)
    print("%d headers, %d sources, %d doubles planted, %d wrong" % (len(headers), len(sources), len(FOUND), len(failed)))
    return 1 if failed else 0


if __name__ == "__main__":
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # where it is ignored, subprocess takes every end for success
    sys.exit(main())
