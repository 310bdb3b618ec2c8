"""Finds what can be mutated in a C file: one class of tokens, and the operands of an operator by precedence."""
import re

TOKEN = re.compile(r"""
  (?P<space>\s+|//[^\n]*|/\*.*?\*/) | (?P<text>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*') |
  (?P<number>(?:0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)[uUlLfF]*) | (?P<word>[A-Za-z_]\w*) |
  (?P<directive>\#(?:\\\n|[^\n])*) |
  (?P<sign><<=|>>=|\.\.\.|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|[-+*/%&|^~!<>=?:;,.(){}\[\]])""", re.X | re.S)
BINARY = {"*": 10, "/": 10, "%": 10, "+": 9, "-": 9, "<<": 8, ">>": 8, "<": 7, "<=": 7, ">": 7, ">=": 7, "==": 6, "!=": 6,
          "&": 5, "^": 4, "|": 3, "&&": 2, "||": 1}
SWAPS = {"+": ["-"], "-": ["+"], "*": ["/"], "/": ["*"], "%": ["*"], "&&": ["||"], "||": ["&&"], "==": ["!="], "!=": ["=="],
         "<": ["<=", ">="], "<=": ["<", ">"], ">": [">=", "<="], ">=": [">", "<"],
         "+=": ["-="], "-=": ["+="], "*=": ["/="], "/=": ["*="]}
KEYWORDS = {"return", "case", "else", "do", "goto", "if", "while", "for", "switch", "default", "const", "static", "struct", "enum"}
TYPES = re.compile(r"(double|float|int|long|short|char|unsigned|signed|bool|s?size_t|u?int\d+_t|const|struct|void)$")
MESSAGE = re.compile(r"\w*(error_set|_fail|fail_with|_refuse|_unsupported|printf|warn|_error)$")
NUMERIC = re.compile(r"(static |inline |const |unsigned )*(bool|int|double|size_t|u?int64_t|long) $")


class Mutant:
    """text[start:end] becomes new. `change` is for people; pure: old and new are worth evaluating side by side."""

    def __init__(self, start, end, new, change, pure=False):
        self.start, self.end, self.new, self.change, self.pure = start, end, new, change, pure
        self.file = self.function = self.line = self.last_line = None

    @property
    def key(self):
        return f"{self.file} {self.function}: {self.change}"


class Token:
    def __init__(self, kind, text, start):
        self.kind, self.text, self.start, self.end = kind, text, start, start + len(text)


def tokens_of(text):
    found, position = [], 0
    while position < len(text):
        match = TOKEN.match(text, position)
        if not match:
            raise ValueError(f"no token at {text[position:position + 20]!r}")
        if match.lastgroup != "space":
            found.append(Token(match.lastgroup, match.group(), position))
        position = match.end()
    return found


class Body:
    """The tokens of one function's body, with what is needed to find operands."""

    def __init__(self, text, tokens, returns):
        self.text, self.tokens, self.returns = text, tokens, returns
        self.partner = {}
        stack = []
        for i, token in enumerate(tokens):
            if token.text in "([{" and token.kind == "sign":
                stack.append(i)
            elif token.text in ")]}" and token.kind == "sign":
                self.partner[i] = stack.pop()
                self.partner[self.partner[i]] = i
        self.left_out = self.find_left_out()

    def at(self, i):
        return self.tokens[i].text if 0 <= i < len(self.tokens) else ""

    def source(self, first, last):
        return self.text[self.tokens[first].start:self.tokens[last].end]

    def next_at_depth(self, i, ends):
        while i < len(self.tokens) and self.at(i) not in ends:
            i = self.partner[i] + 1 if self.at(i) in ("(", "[", "{") else i + 1
        return i

    def find_left_out(self):
        """Constants must stay constant, and what only words a message is no behaviour."""
        out = set()
        for i, token in enumerate(self.tokens):
            if token.text == "static" or token.text == "enum":
                out.update(range(i, self.next_at_depth(i, ";")))
            elif token.text == "case":
                out.update(range(i, self.next_at_depth(i, ":") + 1))
            elif token.kind == "word" and MESSAGE.match(token.text) and self.at(i + 1) == "(":
                out.update(range(i, self.partner[i + 1] + 1))
            elif token.text == "[" and (self.at(i - 1) in "{," or (self.tokens[i - 1].kind == "word" and self.names_type(i - 2))):
                out.update(range(i, self.partner[i] + 1))
            elif token.text == "{" and self.at(i + 1) == "0" and self.at(i + 2) == "}":
                out.add(i + 1)
        return out

    def names_type(self, i):
        return i >= 0 and (self.at(i) == "*" or (self.tokens[i].kind == "word" and self.at(i) not in KEYWORDS))

    def is_cast(self, close):
        first = self.partner[close] + 1
        words = self.tokens[first:close]
        if not words or self.tokens[first - 2].kind == "word" and self.at(first - 2) not in KEYWORDS and first > 1:
            return False
        if not all(t.kind == "word" or t.text == "*" for t in words):
            return False
        return words[-1].text == "*" or TYPES.match(words[-1].text) is not None or words[-1].text.startswith("adept_")

    def is_binary(self, i):
        before = self.tokens[i - 1]
        if before.kind in ("number", "text") or before.text == "]":
            return True
        if before.kind == "word":
            return before.text not in KEYWORDS and before.text != "sizeof"
        if before.text == ")":
            return not self.is_cast(i - 1) and not self.is_control(i - 1)
        return False

    def is_control(self, close):
        return self.at(self.partner[close] - 1) in ("if", "while", "for", "switch")

    def left(self, i, level):
        """The first token of the left operand of the operator at i, of that precedence."""
        first, j = None, i - 1
        while j >= 0:
            token = self.tokens[j]
            if token.text == ")":
                if self.is_control(j):
                    break
                j = self.partner[j]
            elif token.text == "]":
                j = self.partner[j]
            elif token.text == "}":
                if self.at(self.partner[j] - 1) != ")" or self.is_control(self.partner[j] - 1):
                    break
                j = self.partner[j]
            elif token.kind == "sign" and token.text in BINARY:
                if self.is_binary(j) and BINARY[token.text] < level:
                    break
            elif token.kind == "sign" and token.text not in ("!", "~", ".", "->", "++", "--"):
                break
            elif token.kind == "word" and token.text in KEYWORDS:
                break
            first, j = j, j - 1
        return first

    def right(self, i, level):
        last, k = None, i + 1
        while k < len(self.tokens):
            token = self.tokens[k]
            if token.text in ("(", "["):
                k = self.partner[k]
            elif token.text == "{":
                if self.at(k - 1) != ")":
                    break
                k = self.partner[k]
            elif token.kind == "sign" and token.text in BINARY:
                if self.is_binary(k) and BINARY[token.text] <= level:
                    break
            elif token.kind == "sign" and token.text not in ("!", "~", ".", "->", "++", "--"):
                break
            last, k = k, k + 1
        return last

    def is_declarator(self, i, first):
        """A star between a type and what is declared."""
        if self.at(i) not in ("*", "&"):
            return False
        if first == i - 1 and self.tokens[first].kind == "word":
            before = self.at(first - 1)
            return before in (";", "{", "}", "", "const", "struct") or (before == "(" and self.at(first - 2) == "for") \
                or (before == ")" and self.is_control(first - 1)) or TYPES.match(self.at(first)) is not None
        return self.at(i + 1) in (")", "const", "*")

    def is_pure(self, first, last):
        return not any((self.at(j) == "(" and self.tokens[j - 1].kind == "word" and j > first) or self.at(j) in ("++", "--")
                       for j in range(first, last + 1))

    def operator(self, i):
        sign = self.at(i)
        level = BINARY.get(sign, 0)
        first = self.left(i, level or 0.2)
        last = self.right(i, level) if level else self.next_at_depth(i, (";", ",", ")")) - 1
        if first is None or last is None or last <= i or self.is_declarator(i, first):
            return
        if level:
            if not self.is_binary(i):
                return
        left, right = self.source(first, i - 1), self.source(i + 1, last)
        for other in SWAPS[sign]:
            change = f"{short(left, True)} {sign} {short(right)} -> {other}"
            yield Mutant(self.tokens[first].start, self.tokens[last].end, f"{left} {other} {right}", change,
                         level in (6, 7) and self.is_pure(first, last))

    def constant(self, i):
        token = self.tokens[i]
        value = token.text
        around = self.source(max(i - 4, 0), min(i + 3, len(self.tokens) - 1))
        if re.search(r"[.eE]", value) and not value.startswith("0x"):
            new = "1.0" if float(value.rstrip("fFlL")) == 0.0 else f"(2 * {value})"
        else:
            new = {"0": "1", "1": "0"}.get(value, f"({value} + 1)")
        yield Mutant(token.start, token.end, new, f"{value} in {short(around, length=44)} -> {new}")

    def truth(self, i):
        token = self.tokens[i]
        new = "false" if token.text == "true" else "true"
        around = self.source(max(i - 4, 0), min(i + 3, len(self.tokens) - 1))
        yield Mutant(token.start, token.end, new, f"{token.text} in {short(around, length=44)} -> {new}")

    def condition(self, i):
        close = self.partner[i + 1]
        inner = self.source(i + 2, close - 1)
        yield Mutant(self.tokens[i + 2].start, self.tokens[close - 1].end, f"!({inner})",
                     f"{self.at(i)} ({short(inner, length=50)}) -> negated")

    def question(self, i):
        first = self.left(i, 0.5)
        if first is None:
            return
        inner = self.source(first, i - 1)
        yield Mutant(self.tokens[first].start, self.tokens[i - 1].end, f"!({inner})",
                     f"{short(inner, length=50)} ? -> negated")

    def returned(self, i):
        last = self.next_at_depth(i, ";") - 1
        if last <= i or (last == i + 1 and self.tokens[last].kind == "number") or self.at(last) in ("true", "false"):
            return
        if not NUMERIC.match(self.returns) or i + 1 in self.left_out:
            return
        inner = self.source(i + 1, last)
        new = f"!({inner})" if "bool" in self.returns else f"({inner}) + 1"
        yield Mutant(self.tokens[i + 1].start, self.tokens[last].end, new,
                     f"return {short(inner, length=50)} -> {'negated' if 'bool' in self.returns else '+ 1'}")

    def mutants(self):
        for i, token in enumerate(self.tokens):
            if i in self.left_out:
                continue
            if token.kind == "sign" and token.text in SWAPS:
                yield from self.operator(i)
            elif token.kind == "sign" and token.text == "?":
                yield from self.question(i)
            elif token.kind == "number":
                yield from self.constant(i)
            elif token.text in ("true", "false"):
                yield from self.truth(i)
            elif token.text in ("if", "while") and self.at(i + 1) == "(":
                yield from self.condition(i)
            elif token.text == "return":
                yield from self.returned(i)


def short(text, at_end=False, length=24):
    text = " ".join(text.split())
    if len(text) <= length:
        return text
    return "…" + text[-length:] if at_end else text[:length] + "…"


def functions(tokens):
    """(name, return type, first, last) of each body."""
    depth, begin = 0, 0
    for i, token in enumerate(tokens):
        if token.text == "{" and token.kind == "sign":
            if depth == 0 and tokens[i - 1].text == ")":
                opened = i
                head = [t.text for t in tokens[begin:i]]
                parenthesis = head.index("(")
                yield_head = head[parenthesis - 1], " ".join(head[:parenthesis - 1]) + " "
            elif depth == 0:
                opened = None
            depth += 1
        elif token.text == "}" and token.kind == "sign":
            depth -= 1
            if depth == 0:
                if opened is not None:
                    yield (*yield_head, opened, i)
                    begin = i + 1
        elif depth == 0 and (token.text == ";" or token.kind == "directive"):
            begin = i + 1


DEFINE = re.compile(r"#define [A-Z_0-9]+ +((?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(?:/\*.*)?$")


def find_mutants(file, text):
    found = []
    tokens = tokens_of(text)
    for token in tokens:
        match = DEFINE.match(token.text) if token.kind == "directive" else None
        if match:
            value = match.group(1)
            new = {"0": "1", "1": "0"}.get(value, f"({value} + 1)" if value.isdigit() else f"(2 * {value})")
            mutant = Mutant(token.start + match.start(1), token.start + match.end(1), new,
                            f"{short(token.text, length=50)} -> {new}")
            mutant.function = "#define"
            found.append(mutant)
    for name, returns, first, last in functions(tokens):
        for mutant in Body(text, tokens[first:last + 1], returns).mutants():
            mutant.function = name
            found.append(mutant)
    for mutant in found:
        mutant.file = file
        mutant.line = text.count("\n", 0, mutant.start) + 1
        mutant.last_line = text.count("\n", 0, mutant.end) + 1
    return found
