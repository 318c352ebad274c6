# SPDX-License-Identifier: MIT
"""The image of Containerfile, built and run by buildah, which needs no privileges with its
vfs storage and chroot isolation."""
import os
import shutil
import subprocess
import tempfile
import time
import unittest
import urllib.request

from server import BUILD

PORT = 8000  # fixed in the image


@unittest.skipUnless(shutil.which('buildah'), 'needs buildah')
class Container(unittest.TestCase):
    def buildah(self, *arguments, timeout=900, **options):
        store = os.path.abspath(os.path.join(BUILD, 'containers'))
        command = ['buildah', '--storage-driver', 'vfs', '--root', store + '/root', '--runroot',
                   store + '/run', *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=timeout,
                              check=False, **options)

    def test_build_and_answer(self):
        built = self.buildah('build', '--isolation', 'chroot', '-t', 'bert-serve', '.')
        if built.returncode != 0 and ('dial tcp' in built.stderr or 'pinging' in built.stderr):
            self.skipTest('the base image cannot be fetched: ' + built.stderr[-200:].strip())
        self.assertEqual(built.returncode, 0, built.stderr[-3000:])
        name = self.buildah('from', 'bert-serve').stdout.strip()
        self.addCleanup(self.buildah, 'rm', name)
        said = self.buildah('run', '--isolation', 'chroot', name, '--', 'id', '-un')
        self.assertEqual(said.stdout.strip(), 'bert')
        with tempfile.TemporaryFile() as out:
            store = os.path.abspath(os.path.join(BUILD, 'containers'))
            process = subprocess.Popen(
                ['buildah', '--storage-driver', 'vfs', '--root', store + '/root', '--runroot',
                 store + '/run', 'run', '--isolation', 'chroot', name, '--', 'bert-serve',
                 '--listen', f'127.0.0.1:{PORT}'], stdout=out, stderr=out)
            self.addCleanup(process.kill)
            health, end = 0, time.monotonic() + 30
            while health != 200 and time.monotonic() < end:
                try:
                    health = urllib.request.urlopen(f'http://127.0.0.1:{PORT}/health').status
                except OSError:
                    time.sleep(0.2)
            self.assertEqual(health, 200)
            process.terminate()
            process.wait(30)


if __name__ == '__main__':
    unittest.main()
