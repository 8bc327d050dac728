"""Writes a curve for TensorBoard, without TensorFlow."""

import sys

from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.event_file_writer import EventFileWriter

writer = EventFileWriter(sys.argv[1])
for step in range(100):
    value = Summary.Value(tag="loss/train", simple_value=1 / (1 + step))
    writer.add_event(Event(wall_time=1_800_000_000.0 + step, step=step, summary=Summary(value=[value])))
writer.close()
