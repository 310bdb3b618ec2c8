"""Pixels of an 8-bit PNG without interlacing, as Chromium writes it: standard library only."""
import struct
import zlib


def read(data):
    """(width, height, rows), rows a list of bytes with 3 per pixel."""
    if data[:8] != b"\x89PNG\r\n\x1a\n":
        raise ValueError("no PNG")
    at, packed = 8, b""
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + size]
        if kind == b"IHDR":
            width, height, depth, color, _, _, interlaced = struct.unpack(">IIBBBBB", body)
            if depth != 8 or color not in (2, 6) or interlaced:
                raise ValueError("a PNG of another kind")
        elif kind == b"IDAT":
            packed += body
        at += 12 + size
    step = 3 if color == 2 else 4
    raw = zlib.decompress(packed)
    before, rows, at = bytearray(width * step), [], 0
    for _ in range(height):
        row = _unfilter(raw[at], bytearray(raw[at + 1:at + 1 + width * step]), before, step)
        at += 1 + width * step
        rows.append(bytes(row) if step == 3 else bytes(b for i, b in enumerate(row) if i % 4 != 3))
        before = row
    return width, height, rows


def _unfilter(kind, row, before, step):
    if kind == 1:
        for i in range(step, len(row)):
            row[i] = row[i] + row[i - step] & 255
    elif kind == 2:
        for i in range(len(row)):
            row[i] = row[i] + before[i] & 255
    elif kind == 3:
        for i in range(len(row)):
            row[i] = row[i] + ((row[i - step] if i >= step else 0) + before[i]) // 2 & 255
    elif kind == 4:
        for i in range(len(row)):
            a, b, c = (row[i - step], before[i], before[i - step]) if i >= step else (0, before[i], 0)
            p, q, r = abs(b - c), abs(a - c), abs(a + b - 2 * c)
            row[i] = row[i] + (a if p <= q and p <= r else b if q <= r else c) & 255
    return row


def colors(data):
    """How often every color stands in a picture, and how many pixels it has."""
    width, height, rows = read(data)
    counts = {}
    for row in rows:
        for i in range(0, len(row), 3):
            color = row[i:i + 3]
            counts[color] = counts.get(color, 0) + 1
    return counts, width * height


def share(data, wanted, within=24):
    """Share of the pixels whose three channels are all that close to one of the wanted colors ("#0072B2")."""
    counts, n = colors(data)
    targets = [tuple(bytes.fromhex(text[1:])) for text in wanted]
    near = sum(count for color, count in counts.items()
               if any(all(abs(a - b) <= within for a, b in zip(color, target)) for target in targets))
    return near / n
