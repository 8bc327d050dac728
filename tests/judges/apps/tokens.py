"""A model server as OpenAI's API has it, that says a token only after it was told that the last one arrived.

A proxy that holds tokens back waits here for ever: nothing depends on how fast anything is.
"""

import json
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOKENS = ["Light", " from", " the", " stars", "."]
arrived = threading.Semaphore(0)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/arrived":
            arrived.release()
            self.send_response(204)
            self.end_headers()
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for token in TOKENS:
            self.say({"index": 0, "delta": {"content": token}, "finish_reason": None}, asked["model"])
            if not arrived.acquire(timeout=20):
                return  # the client did not get it: the answer breaks off
        self.say({"index": 0, "delta": {}, "finish_reason": "stop"}, asked["model"])
        self.chunk(b"data: [DONE]\n\n")
        self.chunk(b"")

    def say(self, choice: dict, model: str) -> None:
        event = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": model, "choices": [choice]}
        self.chunk(b"data: " + json.dumps(event).encode() + b"\n\n")

    def chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
        self.wfile.flush()

    def log_message(self, *_: object) -> None:
        pass


server = ThreadingHTTPServer(("127.0.0.1", int(os.environ["STARLIGHT_PORT_WEB"])), Handler)
print("serving", flush=True)
server.serve_forever()
