"""Writes the objects of a workspace as files for `peerd import`; `verbs.py` runs it in a process of its own.

    object_tree.py make COUNT PROPERTIES DIRECTORY    a tree of COUNT objects, and facts.json about it
    object_tree.py more COUNT PROPERTIES FACTS FILE   COUNT new objects for the workspace of FACTS, with random ids

A tenth of all objects is directly below one large folder. The others are in folders of three to a few hundred objects,
up to eight levels deep; one object in forty is such a folder. The same COUNT always gives the same tree.
"""

import bisect
import itertools
import json
import os
import random
import sys
import uuid

OBJECTS_PER_FILE = 50_000
OBJECTS_PER_FOLDER = 40
TOP_FOLDERS = 20
DEPTH_MAX = 8
WORDS = "seeds water garden north letter paper winter bread river stone music train light apple house field".split()


class Tree:
    """Parents by object number; a parent's number is lower than those of its children."""

    def __init__(self, count, seed):
        self.random = random.Random(seed)
        self.count = count
        self.large_folder = 0
        large = count // 10
        self.folder_count = 1 + max(1, (count - large) // OBJECTS_PER_FOLDER)
        self.first_in_large_folder = count - large
        self.depths = []
        self.folder_parents = [self.parent_of_folder(number) for number in range(self.folder_count)]
        # A few folders hold much, most hold little.
        weights = [self.random.paretovariate(1.5) for _ in range(1, self.folder_count)]
        self.sums = list(itertools.accumulate(min(weight, 12) for weight in weights))
        # Numbers of their own, so that one id can be told without all before it.
        self.id_seed = seed

    def parent_of_folder(self, number):
        if number <= TOP_FOLDERS:
            self.depths.append(1)
            return None
        while True:
            parent = self.random.randrange(1, number)
            if self.depths[parent] < DEPTH_MAX:
                self.depths.append(self.depths[parent] + 1)
                return parent

    def parent(self, number):
        if number < self.folder_count:
            return self.folder_parents[number]
        if number >= self.first_in_large_folder:
            return self.large_folder
        return 1 + bisect.bisect_left(self.sums, self.random.random() * self.sums[-1])

    def id(self, number):
        return str(uuid.UUID(int=random.Random(self.id_seed << 32 | number).getrandbits(128), version=4))


def properties(chance, number, count):
    """Ten properties as an application has them; fewer if fewer are wanted."""
    made = {
        "name": f"{chance.choice(WORDS)} {chance.choice(WORDS)} {number}",
        "done": chance.random() < 0.5,
        "rank": chance.randrange(1000),
        "due": 1_700_000_000 + chance.randrange(100_000_000),
        "price": round(chance.random() * 100, 2),
        "tag": chance.choice(WORDS),
        "note": " ".join(chance.choice(WORDS) for _ in range(8)),
        "size": chance.randrange(1_000_000),
        "color": f"#{chance.randrange(1 << 24):06x}",
        "status": chance.choice(["open", "waiting", "closed"]),
    }
    return dict(itertools.islice(made.items(), count))


def write_array(path, elements):
    with open(path, "w", encoding="utf-8") as file:
        for position, element in enumerate(elements):
            file.write("[\n" if position == 0 else ",\n")
            json.dump(element, file, separators=(",", ":"))
        file.write("\n]\n")


def make(count, property_count, directory):
    tree = Tree(count, seed=count)
    chance = random.Random(count + 1)

    def element(number):
        parent = tree.parent(number)
        made = {"id": tree.id(number), "type": "folder" if number < tree.folder_count else "item"}
        if parent is not None:
            made["parent"] = tree.id(parent)
        made["properties"] = properties(chance, number, property_count)
        return made

    files = []
    for first in range(0, count, OBJECTS_PER_FILE):
        files.append(os.path.join(directory, f"objects-{first // OBJECTS_PER_FILE}.json"))
        write_array(files[-1], map(element, range(first, min(count, first + OBJECTS_PER_FILE))))
    in_large_folder = range(tree.first_in_large_folder, count)
    facts = {
        "count": count,
        "files": files,
        "large_folder": tree.id(tree.large_folder),
        "large_folder_count": len(in_large_folder),
        # From its middle, and far enough apart.
        "in_large_folder": [tree.id(in_large_folder[len(in_large_folder) * part // 20]) for part in range(1, 20)],
        "items": [tree.id(tree.folder_count + part * tree.count // 40) for part in range(1, 20)],
        "folders": [tree.id(number) for number in range(1, min(tree.folder_count, 101))],
    }
    with open(os.path.join(directory, "facts.json"), "w", encoding="utf-8") as file:
        json.dump(facts, file)


def more(count, property_count, facts_file, path):
    with open(facts_file, encoding="utf-8") as file:
        folders = json.load(file)["folders"]
    chance = random.Random(os.urandom(8))
    write_array(
        path,
        (
            {
                "type": "item",
                "parent": folders[number % len(folders)],
                "properties": properties(chance, number, property_count),
            }
            for number in range(count)
        ),
    )


def main():
    verb, count, property_count, *paths = sys.argv[1:]
    {"make": make, "more": more}[verb](int(count), int(property_count), *paths)


if __name__ == "__main__":
    main()
