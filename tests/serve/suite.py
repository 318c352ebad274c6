# SPDX-License-Identifier: MIT
"""Runs the tests whose files match a pattern and ends with the line that tests/run adds up."""
import os
import sys
import unittest

FOLDER = os.path.dirname(os.path.abspath(__file__))


def main():
    if not os.access(os.path.join(os.environ.get('B', 'build'), 'bert-serve'), os.X_OK):
        print('bert-serve is not built')
        return 1
    suite = unittest.defaultTestLoader.discover(FOLDER, pattern=sys.argv[1])
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=1).run(suite)
    failed = len(result.failures) + len(result.errors)
    for test, reason in result.skipped:
        print(f'skipped {test.id()}: {reason}')
    good = max(0, result.testsRun - failed - len(result.skipped))
    print(f'{good} passed, {failed} failed, {len(result.skipped)} skipped')
    return 1 if failed else 0


sys.exit(main())
