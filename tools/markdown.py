"""Markdown as the documents have it."""
import html
import re
import textwrap

WIDTH = 100


def wrap(text):
    """Paragraphs and list items with a longer line, broken at WIDTH. Headings, tables, code and pictures stay."""
    blocks, fenced = [], False
    for block in text.split("\n\n"):
        lines = block.split("\n")
        is_prose = not fenced and not any(re.match(r"\s{4}|\s*[|#>!]|```", line) for line in lines)
        fenced ^= sum(line.startswith("```") for line in lines) % 2
        if is_prose and max(map(len, lines)) > WIDTH:
            end = len(block.rstrip("\n"))
            block = "\n".join(line for item in re.split(r"\n(?=\s*- )", block[:end]) for line in _wrap_item(item)) + block[end:]
        blocks.append(block)
    return "\n\n".join(blocks)


def _wrap_item(item):
    if max(map(len, item.split("\n"))) <= WIDTH:
        return [item]
    indent, dash = re.match(r"(\s*)(- )?", item).groups("")
    return textwrap.wrap(" ".join(item.split()), WIDTH, initial_indent=indent, subsequent_indent=indent + " " * len(dash),
                         break_long_words=False, break_on_hyphens=False)


# HTML of it. link(target) gives the address of a link.

def slug(heading):
    """The anchor of a heading, as GitHub makes it"""
    return re.sub(r"[^\w\- ]", "", re.sub(r"\]\([^)]*\)", "", heading).lower()).replace(" ", "-")


def inline(text, link=lambda target: target):
    """A line's HTML: code, pictures, links, bold, italics; all else is text."""
    def part(match):
        code, picture, label, target, bold, italic = match.groups()
        if code:
            return "<code>%s</code>" % html.escape(code.strip("`").strip())
        if target:
            address = html.escape(link(target))
            return '<img src="%s" alt="%s">' % (address, html.escape(label)) if picture else '<a href="%s">%s</a>' % (address, inline(label, link))
        return "<b>%s</b>" % inline(bold, link) if bold else "<i>%s</i>" % inline(italic, link)

    pattern = r"(``[^`]+``|`[^`]+`)|(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)|\*\*(.+?)\*\*|(?<![\w*])\*([^*\s][^*]*?)\*(?![\w*])"
    done, at = "", 0
    for match in re.finditer(pattern, text):
        done += html.escape(re.sub(r"\\([\\|*_`])", r"\1", text[at:match.start()])) + part(match)
        at = match.end()
    return done + html.escape(re.sub(r"\\([\\|*_`])", r"\1", text[at:]))


def _cells(row):
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", re.sub(r"`[^`]*`", lambda code: code[0].replace("\\|", "\0"), row.strip())[1:-1])]


def _table(rows, link):
    aligned = [" class=\"n\"" if rule.endswith(":") else "" for rule in _cells(rows[1])]
    out = []
    for n, row in enumerate(rows[:1] + rows[2:]):
        cells = [inline(cell.replace("\0", "|"), link) for cell in _cells(row)]
        cells += [""] * (len(aligned) - len(cells))
        out.append("<tr>%s</tr>" % "".join("<{0}{1}>{2}</{0}>".format("td" if n else "th", side, cell) for side, cell in zip(aligned, cells)))
    return "<div class=\"table\"><table>\n%s\n</table></div>" % "\n".join(out)


ITEM = r"(\s*)(-|\d+\.) "


def _list(lines, link):
    indent = len(re.match(ITEM, lines[0])[1])
    items = []
    for line in lines:
        match = re.match(ITEM, line)
        if match and len(match[1]) == indent:
            items.append([line[match.end():]])
        else:
            items[-1].append(line)
    width = indent + len(re.match(ITEM, lines[0])[0].strip()) + 1
    tag = "ul" if re.match(ITEM, lines[0])[2] == "-" else "ol"
    out = []
    for item in items:
        inner = to_html("\n".join([item[0]] + [line[min(width, len(line) - len(line.lstrip())):] for line in item[1:]]), link)[0]
        out.append("<li>%s</li>" % re.sub(r"^<p>(.*?)</p>", r"\1", inner, count=1, flags=re.S))
    return "<%s>\n%s\n</%s>" % (tag, "\n".join(out), tag)


def to_html(text, link=lambda target: target):
    """(HTML, [(level, heading, anchor, text below)])"""
    lines, out, sections, at = text.split("\n"), [], [[0, "", "", ""]], 0
    seen = {}

    def until(ends):
        nonlocal at
        begin = at
        at += 1
        while at < len(lines) and not ends(lines[at]):
            at += 1
        return lines[begin:at]

    while at < len(lines):
        line, begin = lines[at], at
        if not line.strip():
            at += 1
        elif line.startswith("<!--"):
            until(lambda _: "-->" in lines[at - 1])
        elif line.startswith("```"):
            code = until(lambda one: one.startswith("```"))[1:]
            at += 1
            out.append("<pre>%s</pre>" % html.escape("\n".join(code)))
        elif line.startswith("    "):
            code = until(lambda one: one.strip() and not one.startswith("    "))
            out.append("<pre>%s</pre>" % html.escape(textwrap.dedent("\n".join(code)).rstrip()))
        elif line.startswith("#"):
            level, title = len(line) - len(line.lstrip("#")), line.lstrip("#").strip()
            anchor = slug(title)
            seen[anchor] = seen.get(anchor, -1) + 1
            anchor += "-%d" % seen[anchor] if seen[anchor] else ""
            out.append('<h%d id="%s">%s</h%d>' % (level, anchor, inline(title, link), level))
            sections.append([level, re.sub("[`*]", "", title), anchor, ""])
            at += 1
        elif line.startswith("|") and re.match(r"\|[-:| ]+\|$", (lines[at + 1:] or [""])[0]):
            out.append(_table(until(lambda one: not one.startswith("|")), link))
        elif re.match(ITEM, line):
            same = r"\s|-\s" if line[0] == "-" else r"\s|\d+\.\s"
            out.append(_list(until(lambda one: one.strip() and not re.match(same, one)), link))
        else:
            paragraph = until(lambda one: not one.strip() or re.match(r"```|\||#|<!--|" + ITEM, one))
            out.append("<p>%s</p>" % inline("\n".join(paragraph), link))
        sections[-1][3] += " ".join(lines[begin:at]) + " "
    return "\n".join(out), [tuple(section) for section in sections]
