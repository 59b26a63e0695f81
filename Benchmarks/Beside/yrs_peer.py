"""Times the bulk import of Yrs (pycrdt) of a workload: yrs_peer.py WORKLOAD COUNT. Prints one line of JSON."""

import json
import sys
import time

import pycrdt
import workload


def replica(number, *updates):
    doc = pycrdt.Doc(client_id=number)
    doc["objects"] = pycrdt.Map()
    for update in updates:
        doc.apply_update(update)
    return doc


def write(doc, objects, writer, registers):
    for portion in workload.portions(registers):
        with doc.transaction():
            for register in portion:
                name = workload.NAMES[register % workload.PROPERTY_COUNT]
                objects[register // workload.PROPERTY_COUNT][name] = workload.value(register, writer)


def maps(doc, count):
    root = doc["objects"]
    return [root[workload.object_key(number)] for number in range(count)]


def property_blobs(name, count):
    object_count, before, news = workload.property_writes(name, count)
    first = replica(1)
    root = first["objects"]
    with first.transaction():
        for number in range(object_count):
            root[workload.object_key(number)] = pycrdt.Map()
    objects = maps(first, object_count)
    created = first.get_update()
    seen = first.get_state()
    if before:
        write(first, objects, 1, before)
    base = first.get_update()
    blobs = []
    for writer, registers in news:
        if writer == 1:
            doc, own = first, objects
        else:
            doc = replica(writer, created)
            own = maps(doc, object_count)
        write(doc, own, writer, registers)
        blobs.append(doc.get_update(seen))
    return base, blobs


def main():
    name, count = sys.argv[1], int(sys.argv[2])
    base, blobs = property_blobs(name, count)
    best = None
    for _ in range(3):
        doc = replica(99, base)
        start = time.perf_counter()
        # One transaction over all, which is faster here than merging the updates first.
        with doc.transaction():
            for blob in blobs:
                doc.apply_update(blob)
        seconds = time.perf_counter() - start
        best = seconds if best is None else min(best, seconds)
    print(json.dumps({"seconds": best, "operations": count, "wire_bytes": sum(len(blob) for blob in blobs)}))


main()
