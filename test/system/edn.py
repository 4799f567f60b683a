"""Reads the part of EDN that histories of Jepsen use: maps, vectors, keywords, strings, whole numbers, nil, true and false."""

import re

TOKEN = re.compile(r'[\s,]*([\[\]{}]|"(?:[^"\\]|\\.)*"|:[\w*+!?<>=./-]+|-?\d+|nil|true|false)')
WORDS = {"nil": None, "true": True, "false": False}


def read_all(text):
    """Each value of the text. A keyword is a str, without its colon."""
    values, at = [], 0
    text = text.rstrip()
    while at < len(text):
        value, at = read(text, at)
        values.append(value)
    return values


def token(text, at):
    found = TOKEN.match(text, at)
    if found is None:
        raise ValueError(f"no EDN at {at}: {text[at:at + 40]!r}")
    return found[1], found.end()


def read(text, at):
    word, at = token(text, at)
    if word in "[{":
        values, end = [], "]" if word == "[" else "}"
        while token(text, at)[0] != end:
            value, at = read(text, at)
            values.append(value)
        at = token(text, at)[1]
        return (values if word == "[" else dict(zip(values[::2], values[1::2], strict=True))), at
    if word in "]}":
        raise ValueError(f"{word} at {at} closes nothing")
    if word[0] == '"':
        return re.sub(r"\\(.)", r"\1", word[1:-1]), at
    return WORDS[word] if word in WORDS else word[1:] if word[0] == ":" else int(word), at
