"""A Gradio app whose answer comes letter by letter through its queue (server-sent events)."""

import os
import time
from collections.abc import Iterator

import gradio as gr


def spell(text: str) -> Iterator[str]:
    for end in range(1, len(text) + 1):
        yield "-".join(text[:end])
        time.sleep(0.05)


gr.Interface(spell, gr.Textbox(label="Text"), gr.Textbox(label="Spelled")).launch(
    server_name="127.0.0.1", server_port=int(os.environ["STARLIGHT_PORT_WEB"]), quiet=False
)
