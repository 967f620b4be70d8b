"""Stands for a Python that has ONNX Runtime, lacks Paddle, and whose OpenVINO cannot read the model.

usage: played_framework.py SCRIPT BACKEND MODEL [--check HxW | --threads N --precision P --answers FD [--quantize FILE]]
What it reads says which pixels came: a line's class is 1 and its width in pixels modulo 3. A picture 7 pixels wide is
an error, one 11 pixels wide its death. The file in 8 bits holds the number of lines that it was made from.
"""
import json
import os
import struct
import sys

backend = sys.argv[2]
if '--check' in sys.argv:
    said = {'onnxruntime': {'version': '9.9', 'classes': 5},
            'openvino': {'error': 'No conversion rule found for operations: Fooify'}}
    if backend == 'paddle-onednn':
        sys.exit(3)
    print('noise of an import\nocrtune: ' + json.dumps(said.get(backend, {'missing': 'paddle', 'error': 'No module'})))
    sys.exit(0)

answers = int(sys.argv[sys.argv.index('--answers') + 1])
seen = 0


def say(kind, body):
    os.write(answers, struct.pack('=I', len(body)) + kind + body)


def read(count):
    data = b''
    while len(data) < count:
        part = sys.stdin.buffer.read(count - len(data))
        if not part:
            if '--quantize' in sys.argv:
                with open(sys.argv[sys.argv.index('--quantize') + 1], 'w') as file:
                    file.write(str(seen))
                say(b'Q', b'') if seen > 1 else say(b'E', b'too few lines')
            sys.exit(0)
        data += part
    return data


say(b'H', b'9.9')
while True:
    lines, height, width = struct.unpack('=III', read(12))
    seen += lines
    pixels = struct.unpack(f'={lines * 3 * height * width}f', read(12 * lines * height * width))
    for line in range(lines):
        row = pixels[line * 3 * height * width:][:width]  # the first one of red
        wide = sum(one != 0 for one in row)
        if wide == 7:
            say(b'E', b'one shape too many')
        if wide == 11:
            os._exit(9)
        say(b'L', struct.pack('=2i2f', 1 + wide % 3, 0, 0.5, 1.0))
