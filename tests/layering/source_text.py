"""A C++ source file with its comments, or its comments and literals, blanked out.

Line numbers and columns stay as they were, so that what is found can be pointed at.
"""

import re

# In order: comments, raw strings, strings, characters. A ' between two digits separates them.
TOKEN = re.compile(
    r"""(?P<comment>//(?:\\\n|[^\n])*|/\*.*?\*/)
      | (?P<raw>R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)")
      | (?P<string>"(?:\\.|[^"\\\n])*")
      | (?P<character>(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+')""",
    re.VERBOSE | re.DOTALL,
)


def blank(text):
    return re.sub(r"[^\n]", " ", text)


def without_comments(text):
    return TOKEN.sub(lambda m: blank(m.group()) if m.group("comment") else m.group(), text)


def without_comments_and_literals(text):
    return TOKEN.sub(lambda m: blank(m.group()), text)


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def call_arguments(text, opening):
    """What stands between the parenthesis at `opening` and its partner; None if it has none."""
    depth = 0
    for position in range(opening, len(text)):
        if text[position] == "(":
            depth += 1
        elif text[position] == ")":
            depth -= 1
            if depth == 0:
                return text[opening + 1 : position]
    return None
