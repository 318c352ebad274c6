# SPDX-License-Identifier: MIT
"""Starts bert-serve on a free loopback port for a test, and ends it. Standard library only."""
import glob
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import tempfile
import threading
import time

BUILD = os.environ.get('B', 'build')
PROGRAM = os.path.join(BUILD, 'bert-serve')
MODEL = os.environ.get('SERVE_TEST_MODEL') or sorted(glob.glob('data/models/mini-zh*'))[-1]


class Server:
    """with Server('--cache=0') as server: server.post('/predict', {...})"""

    def __init__(self, *options, model=MODEL, env=None, listen='127.0.0.1:0', ready=True,
                 pass_fds=()):
        self.log, self.lines = '', []
        # Options of the machine's user must not change what is tested.
        base = {k: v for k, v in os.environ.items()
                if not k.startswith(('BERT_', 'XDG_', 'MODEL_PATH', 'LISTEN_', 'NOTIFY_'))}
        base['HOME'] = '/nonexistent'
        command = [PROGRAM, '--no-config']
        command += ['--listen', listen] if listen else []
        command += ['-m', model] if model else []
        self.process = subprocess.Popen(command + list(options), stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE,
                                        env={**base, **(env or {})}, pass_fds=pass_fds)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        self.port = None
        if ready:
            try:
                match = self.wait_for(r'ready on (?:http://[^ ]*:(\d+)|unix:)')
            except AssertionError:
                self.stop(signal.SIGKILL)
                raise
            self.port = int(match.group(1)) if match.group(1) else None

    def _read(self):
        for line in self.process.stderr:
            self.lines.append(line.decode('utf-8', 'replace'))

    def wait_for(self, pattern, seconds=20):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            match = re.search(pattern, ''.join(self.lines))
            if match:
                return match
            if self.process.poll() is not None and not self.reader.is_alive():
                break
            time.sleep(0.005)
        raise AssertionError(f'{pattern!r} not in: ' + ''.join(self.lines)[-2000:])

    def __enter__(self):
        return self

    def __exit__(self, *why):
        self.stop()

    def stop(self, wanted=signal.SIGTERM):
        """Its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(wanted)
        try:
            status = self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError('did not end: ' + ''.join(self.lines)[-2000:])
        self.reader.join(5)
        self.process.stderr.close()
        if 'Sanitizer' in ''.join(self.lines):
            raise AssertionError(''.join(self.lines)[-5000:])
        return status

    def alive(self):
        return self.process.poll() is None

    # ---- Requests

    def connect(self, timeout=20):
        return http.client.HTTPConnection('127.0.0.1', self.port, timeout=timeout)

    def request(self, method, path, body=None, headers=None):
        """(status, headers, bytes)"""
        connection = self.connect()
        try:
            connection.request(method, path, body=body, headers=headers or {})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def get(self, path, **headers):
        return self.request('GET', path, headers=headers)

    def post(self, path, body, headers=None):
        """body: bytes as they are, or an object as JSON; answers (status, decoded JSON)."""
        if not isinstance(body, bytes):
            body = json.dumps(body, ensure_ascii=False).encode()
        status, _, data = self.request('POST', path, body, headers or {})
        return status, json.loads(data)

    def upload(self, data, query='', name='a.csv', field='file'):
        """Multipart; answers (status, headers, bytes)."""
        edge = 'edge-of-a-part'
        body = (f'--{edge}\r\nContent-Disposition: form-data; name="{field}"; '
                f'filename="{name}"\r\nContent-Type: text/csv\r\n\r\n').encode()
        body += data + f'\r\n--{edge}--\r\n'.encode()
        return self.request('POST', '/api/batch' + query, body,
                            {'Content-Type': f'multipart/form-data; boundary={edge}'})

    def raw(self, data, timeout=20, half_close=False):
        """Sends bytes as they are; answers all that comes until the server closes."""
        with socket.create_connection(('127.0.0.1', self.port), timeout=timeout) as link:
            try:
                link.sendall(data)
                if half_close:
                    link.shutdown(socket.SHUT_WR)
            except OSError:
                pass  # it may refuse before it has read all
            return receive(link)

    def metric(self, name):
        text = self.get('/metrics')[2].decode()
        match = re.search(rf'^bert_serve_{re.escape(name)} ([\d.e+-]+)$', text, re.M)
        return float(match.group(1)) if match else 0.0

    def open_files(self):
        return len(os.listdir(f'/proc/{self.process.pid}/fd'))

    def resident_kib(self, kind='VmRSS'):
        with open(f'/proc/{self.process.pid}/status', encoding='ascii') as status:
            return int(re.search(kind + r':\s+(\d+)', status.read()).group(1))


def request(body, *headers, path='/predict'):
    lines = [f'POST {path} HTTP/1.1', 'Host: x', f'Content-Length: {len(body)}', *headers]
    return '\r\n'.join(lines).encode() + b'\r\n\r\n' + body


def receive(link):
    data = b''
    try:
        while chunk := link.recv(65536):
            data += chunk
    except ConnectionError:
        pass
    return data


def status_of(data):
    """The status of a raw answer, 0 when there is none."""
    match = re.match(rb'HTTP/1\.[01] (\d+)', data)
    return int(match.group(1)) if match else 0


def temporary_file(data, suffix=''):
    with tempfile.NamedTemporaryFile(suffix=suffix, delete=False) as out:
        out.write(data)
    return out.name
