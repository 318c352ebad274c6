# SPDX-License-Identifier: MIT
#
# terminal.py BUILD OUT.svg: a picture of a terminal, made of what the programs print there:
# each command runs at a terminal of its own, and its characters, colours included, become
# text at the places that they have on the screen.
import fcntl
import html
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import unicodedata

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
COMMANDS = [
    "bert-fill '今天天气真[MASK]啊'",
    "bert-fill --words=满意,一般,失望 '房间很干净，早餐也好。我很[MASK]。'",
    "bert-batch reviews.csv | head -n 3",
    "bert-score --suspects=10 --to=text essay.txt | head -n 1",
]
COLUMNS, CELL, LINE, PAD = 80, 9.0, 21, 18
COLORS = {"30": "#1d1f21", "31": "#cc6666", "32": "#b5bd68", "33": "#f0c674",
          "34": "#81a2be", "35": "#b294bb", "36": "#8abeb7", "37": "#c5c8c6",
          "90": "#8a8f96"}


def shown(command, build):
    main, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, COLUMNS, 0, 0))
    environment = {"PATH": os.path.abspath(build) + ":" + os.environ["PATH"],
                   "HOME": "/nonexistent", "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
    process = subprocess.Popen(["sh", "-c", command], stdout=terminal, stderr=terminal,
                               cwd=os.path.join(ROOT, "data/samples"), env=environment,
                               stdin=subprocess.DEVNULL)
    os.close(terminal)
    text = b""
    while True:
        try:
            piece = os.read(main, 65536)
        except OSError:
            break
        if not piece:
            break
        text += piece
    process.wait()
    return text.decode().replace("\r", "").rstrip("\n").split("\n")


def width(character):
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def runs(line):
    """(row, column, word, style codes) of each word of one style; long lines go on in the
    next row."""
    row = column = 0
    codes = []
    for piece in re.findall(r"\x1b\[[0-9;]*m|[^\x1b ]+| +", line):
        if piece[0] == "\x1b":
            given = [code for code in piece[2:-1].split(";") if code]
            codes = codes + given if given and given != ["0"] else []
            continue
        while piece:
            end, at = 0, column
            while end < len(piece) and at + width(piece[end]) <= COLUMNS:
                at += width(piece[end])
                end += 1
            if piece[:end].strip():
                yield row, column, piece[:end], codes
            piece, column = piece[end:], at
            if piece:
                row, column = row + 1, 0


def text_element(column, y, text, codes):
    # Each character has its own place, so that every font keeps the columns.
    places = []
    for character in text:
        places.append("%g" % (PAD + column * CELL))
        column += width(character)
    color = next((COLORS[code] for code in codes if code in COLORS), "#e8e6e3")
    bold = ' font-weight="bold"' if "1" in codes else ""
    return '<text x="%s" y="%g" fill="%s"%s>%s</text>' % (
        " ".join(places), y, color, bold, html.escape(text))


def main():
    build, out = sys.argv[1:]
    words, row = [], 0
    for command in COMMANDS:
        for line in ["\x1b[32m$\x1b[0m " + command] + shown(command, build):
            last = 0
            for last, column, text, codes in runs(line):
                y = PAD + LINE * (row + last) + 14
                words.append(text_element(column, y, text, codes))
            row += last + 1
        row += 1
    svg = ['<svg xmlns="http://www.w3.org/2000/svg" width="%g" height="%g" '
           'font-family="DejaVu Sans Mono, Noto Sans Mono CJK SC, Menlo, Consolas, '
           'monospace" font-size="15">' %
           (PAD * 2 + COLUMNS * CELL, PAD * 2 + LINE * (row - 1)),
           '<rect width="100%" height="100%" rx="8" fill="#1d1f21"/>'] + words
    with open(out, "w", encoding="utf-8") as file:
        file.write("\n".join(svg) + "\n</svg>\n")


main()
