"""Verdicts of a naive model of rights in Python, for a test that compares them with those of the product.

Reads circles as JSON from a file, and prints for each of its changes whether its author may have acted there as a
manager, a writer and a reader, and which devices are sent the circle.

    python3 sharing_verdicts.py DIRECTORY-OF-THE-MODEL CIRCLES.json
"""

import json
import sys


def verdicts(model, circle):
    devices = []
    for number, (user, parent) in enumerate(circle["devices"]):
        devices.append(model.Device(user, str(number), None if parent is None else devices[parent]))
    changes = []

    def statement(said):
        if said is None:
            return None
        kind, *rest = said
        if kind == "grant":
            user, role, despite = rest
            return model.Grant(user, role, [changes[number].statement for number in despite])
        if kind == "removal":
            user, roles, heads = rest
            return model.Removal(user, roles, [changes[number] for number in heads])
        device, keep, heads = rest
        return model.DeviceRemoval(
            devices[device], [changes[number] for number in heads], [devices[number] for number in keep]
        )

    for change in circle["changes"]:
        previous = None if change["previous"] is None else changes[change["previous"]]
        under = [changes[number].statement for number in change["under"]]
        changes.append(model.Change(devices[change["device"]], previous, statement(change["statement"]), under))
    found = model.Verdicts(circle["owner"], changes)
    roles = (model.MANAGER, model.WRITER, model.READER)
    return {
        "changes": [[found.counts(change, role) for role in roles] for change in changes],
        "readers": [number for number, device in enumerate(devices) if found.reads(device)],
    }


def main():
    sys.path.insert(0, sys.argv[1])
    import model

    with open(sys.argv[2], encoding="utf-8") as file:
        circles = json.load(file)
    json.dump([verdicts(model, circle) for circle in circles], sys.stdout)


main()
