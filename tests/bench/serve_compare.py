# SPDX-License-Identifier: MIT
"""bert-serve beside what a user would write instead: Hugging Face's pipeline behind FastAPI.
Both get the same load in the same run, on all cores there are.

    PEERS/bin/python tests/bench/serve_compare.py [--model FOLDER] [--clients 50] [--seconds 20]

needs torch, transformers, fastapi and uvicorn in that Python; B is the build folder."""
import argparse
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request

BUILD = os.environ.get("B", "build")


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


def wait_for(port, process, seconds=180):
    """Until it answers a question: ours listens before its model is there."""
    body = json.dumps({"text": "今天天气真[MASK]啊。"}).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{port}/predict", body,
                                     {"Content-Type": "application/json"})
    end = time.monotonic() + seconds
    while time.monotonic() < end and process.poll() is None:
        try:
            urllib.request.urlopen(request, timeout=30).read()
            return
        except OSError:
            time.sleep(0.1)
    raise SystemExit("the server did not start")


def serve_pipeline(model, port):
    """Runs in a process of its own: the application as tutorials write it."""
    import fastapi
    import pydantic
    import transformers
    import uvicorn
    fill = transformers.pipeline("fill-mask", model=model)
    application = fastapi.FastAPI()

    class Request(pydantic.BaseModel):
        text: str

    def predict(request: Request):
        return {"results": [{"word": a["token_str"], "confidence": round(100 * a["score"], 2)}
                            for a in fill(request.text)]}
    application.post("/predict")(predict)
    uvicorn.run(application, host="127.0.0.1", port=port, log_level="error")


def measure(name, command, port, args):
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        wait_for(port, process)
        load = [os.path.join(BUILD, "bench", "serve_load"), str(port), str(args.clients)]
        subprocess.run([*load, "1"], stdout=subprocess.DEVNULL, check=False)  # warm
        said = subprocess.run([*load, str(args.seconds)], capture_output=True, text=True,
                              check=False).stdout
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()
    print(f"{name}: {said.strip() or 'no answer'}")
    found = re.search(r"([\d.]+) a second.*p95 ([\d.]+) ms", said)
    if not found:
        raise SystemExit(1)
    return float(found.group(1)), float(found.group(2))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default=os.path.join(BUILD, "bench-work", "random-base"))
    parser.add_argument("--precision", default="int8")
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--as-peer", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.as_peer:
        serve_pipeline(args.model, args.as_peer)
        return
    port = free_port()
    ours = measure("bert-serve", [os.path.join(BUILD, "bert-serve"), "--no-config", "-q",
                                  "--listen", f"127.0.0.1:{port}", "-m", args.model,
                                  "--precision", args.precision], port, args)
    port = free_port()
    theirs = measure("pipeline behind FastAPI", [sys.executable, __file__, "--model",
                                                 args.model, "--as-peer", str(port)], port, args)
    print(f"bert-serve: {ours[0] / theirs[0]:.1f} times the requests, "
          f"{theirs[1] / ours[1]:.1f} times shorter at p95")


if __name__ == "__main__":
    main()
