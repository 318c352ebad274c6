# SPDX-License-Identifier: MIT
#
# options.py BUILD: --help, the manual pages of each language and the option tables name the
# same options with the same letters and arguments. Each page is there in Chinese, too, and in
# order: no complaint of mandoc, cross references that lead somewhere, shared parts as in
# shared/. Ends with "N passed, N failed, N skipped".
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(sys.argv[1])
PROGRAMS = ["bert-fill", "bert-tokenize", "bert-batch", "bert-convert", "bert-serve",
            "bert-score"]
# What mandoc says about pages that are right: ours are not where it looks; and in Chinese
# pages, sections have Chinese names, whose characters it counts by byte and as "[uXXXX]".
FINE = re.compile("referenced manual not found")
FINE_IN_CHINESE = re.compile("referenced manual not found|first section is not|"
                             "description line outside NAME|"
                             "trailing delimiter|longer than 80 bytes")


def run(*command):
    return subprocess.run(command, text=True, capture_output=True, timeout=60)


def options_of_tables(program):
    """{name: (letter, argument)}"""
    dump = run(os.path.join(BUILD, program), "--dump-options").stdout
    rows = [line.split("\t") for line in dump.splitlines()]
    return {row[1]: (row[0], row[2].strip("[]=") if row[2].startswith("[") else row[2])
            for row in rows}


def options_of_help(program):
    text = run(os.path.join(BUILD, program), "--help").stdout
    found = re.findall(r"^  (?:-(\w), |    )--([\w-]+)(?:=(\S+)|\[=(\w+)\])?", text, re.M)
    return {name: (letter, argument or optional)
            for letter, name, argument, optional in found}


def options_of_page(path):
    options = {}
    for line in open(path, encoding="utf-8"):
        match = re.match(r"\.It (?:Fl (\w) , )?Fl -([\w-]+)(.*)", line)
        if match:
            argument = re.sub(r"\b(Ns|Ar|Op|No|Cm|Li)\b|[= ]", "", match.group(3))
            argument = argument.replace("\\-M", "[-M]").replace("\\-", "-")
            options.setdefault(match.group(2), (match.group(1) or "", argument))
    return options


def main():
    counts = {"passed": 0, "failed": 0, "skipped": 0}

    def check(what, complaint):
        counts["failed" if complaint else "passed"] += 1
        if complaint:
            print("FAIL: %s: %s" % (what, complaint))

    def compare(what, expected, got):
        differing = {name for name in set(expected) | set(got)
                     if expected.get(name) != got.get(name)}
        check(what, ["%s: %s, expected %s" % (name, got.get(name), expected.get(name))
                     for name in sorted(differing)])

    folders = [os.path.join(ROOT, "man"), os.path.join(ROOT, "man/zh_CN")]
    for program in PROGRAMS:
        tables = options_of_tables(program)
        compare(program + " --help", tables, options_of_help(program))
        for folder in folders:
            page = os.path.join(folder, program + ".1")
            if os.path.exists(page):
                compare(os.path.relpath(page, ROOT), tables, options_of_page(page))
            else:
                check(os.path.relpath(page, ROOT), "is missing")

    for page in sorted(glob.glob(folders[0] + "/*.[157]")):
        name = os.path.join("man/zh_CN", os.path.basename(page))
        check(name, "" if os.path.exists(os.path.join(ROOT, name)) else "is missing")
    with tempfile.TemporaryDirectory() as fresh:
        for folder in folders:
            pages = sorted(glob.glob(folder + "/*.[157]"))
            copy = os.path.join(fresh, os.path.basename(folder))
            shutil.copytree(folder, copy)
            run(os.path.join(ROOT, "man/refresh"), copy)
            for page in pages:
                name = os.path.relpath(page, ROOT)
                text = open(page, encoding="utf-8").read()
                again = open(os.path.join(copy, os.path.basename(page)), encoding="utf-8")
                check(name + " has the shared parts (man/refresh)",
                      "" if again.read() == text else "it differs")
                missing = [match for match in re.findall(r"\.(?:It )?Xr (\S+) (\d)", text)
                           if not os.path.exists(os.path.join(ROOT, "man/%s.%s" % match))]
                check(name + " refers to pages that are there", missing)
                if shutil.which("mandoc"):
                    fine = FINE_IN_CHINESE if "zh_CN" in name else FINE
                    said = run("mandoc", "-Tlint", page).stdout.splitlines()
                    check(name + " is in order for mandoc",
                          "\n".join(line for line in said if not fine.search(line)))
                else:
                    counts["skipped"] += 1
    if not shutil.which("mandoc"):
        print("SKIP: mandoc -Tlint: it is not installed")
    print("%(passed)d passed, %(failed)d failed, %(skipped)d skipped" % counts)
    return counts["failed"] > 0


sys.exit(main())
