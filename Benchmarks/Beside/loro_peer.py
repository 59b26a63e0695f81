"""Times Loro's bulk import of a workload: loro_peer.py WORKLOAD COUNT. Prints one line of JSON."""

import json
import sys
import time

import loro
import workload


def replica(number, snapshot=None):
    doc = loro.LoroDoc()
    doc.peer_id = number
    if snapshot is not None:
        doc.import_(snapshot)
    return doc


def write(doc, objects, writer, registers):
    for portion in workload.portions(registers):
        for register in portion:
            name = workload.NAMES[register % workload.PROPERTY_COUNT]
            objects[register // workload.PROPERTY_COUNT].insert(name, workload.value(register, writer))
        doc.commit()


def maps(doc, count):
    root = doc.get_map("objects")
    return [root.get(workload.object_key(number)).container for number in range(count)]


def property_blobs(name, count):
    object_count, before, news = workload.property_writes(name, count)
    first = replica(1)
    root = first.get_map("objects")
    objects = [root.insert_container(workload.object_key(number), loro.LoroMap()) for number in range(object_count)]
    first.commit()
    created = first.export(loro.ExportMode.Snapshot())
    seen = first.oplog_vv
    if before:
        write(first, objects, 1, before)
    base = first.export(loro.ExportMode.Snapshot())
    blobs = []
    for writer, registers in news:
        if writer == 1:
            doc, own = first, objects
        else:
            doc = replica(writer, created)
            own = maps(doc, object_count)
        write(doc, own, writer, registers)
        blobs.append(doc.export(loro.ExportMode.Updates(seen)))
    return base, blobs


def tree_blobs(count):
    parents = workload.tree_parents()
    first = replica(1)
    tree = first.get_tree("tree")
    tree.enable_fractional_index(0)
    nodes = []
    for parent in parents:
        nodes.append(tree.create(nodes[parent] if parent >= 0 else None))
    first.commit()
    base = first.export(loro.ExportMode.Snapshot())
    seen = first.oplog_vv
    blobs = []
    for number in (2, 3):
        doc = replica(number, base)
        tree = doc.get_tree("tree")
        tree.enable_fractional_index(0)
        for portion in workload.portions(workload.tree_moves(count // 2, number, parents)):
            for node, parent in portion:
                tree.mov(nodes[node], nodes[parent])
            doc.commit()
        blobs.append(doc.export(loro.ExportMode.Updates(seen)))
    return base, blobs


def main():
    name, count = sys.argv[1], int(sys.argv[2])
    base, blobs = tree_blobs(count) if name == "moves" else property_blobs(name, count)
    best = None
    for _ in range(3):
        doc = replica(99, base)
        start = time.perf_counter()
        if len(blobs) == 1:
            doc.import_(blobs[0])
        else:
            doc.import_batch(blobs)
        seconds = time.perf_counter() - start
        best = seconds if best is None else min(best, seconds)
    print(json.dumps({"seconds": best, "operations": count, "wire_bytes": sum(len(blob) for blob in blobs)}))


main()
