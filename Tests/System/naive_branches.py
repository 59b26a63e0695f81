"""What counts on each branch by brute force, from the log of all operations alone.

Written from the words of the design: a change takes in what it names of its own timeline and of those that it says it
merges, and what that had taken in. A branch is what it begins with, its own changes, and all that these took in.
"""

from naive_state import State, changes_from, operations_from


class Timelines:
    """The main timeline and the branches of a log."""

    def __init__(self, lines):
        self.lines = lines
        self.changes = changes_from(lines)
        self.by_name = {(key[0], key[1][:16]): change for key, change in self.changes.items()}
        # The branch of each chain, None for the main timeline, and what each change merges.
        self.branch_of, self.merges, self.context, self.openings = {}, {}, {}, {}
        for line in lines:
            stored = line["stored"]
            change = self.change(line)
            self.context[change] = self.points(stored["context"])
            if stored["kind"] == "introduce":
                self.branch_of[stored["replica"]] = stored.get("branch")
            elif stored["kind"] == "branch-create":
                self.openings[stored["branch"]] = stored
            elif stored["kind"] == "branch-merge":
                branch = None if stored["branch"] == "main" else stored["branch"]
                self.merges.setdefault(change, set()).add(branch)
        self.taken = {}
        for change in sorted(self.changes.values(), key=lambda change: change.stamp):
            self.taken[change] = self._taken_in(change)

    def change(self, line):
        return self.changes[line["stored"]["replica"], line["stored"]["hash"]]

    def points(self, names):
        """Changes as an entry of the log names them: {replica: {beginning of a hash: sequence}}."""
        pairs = [(replica, name) for replica, points in names.items() for name in points]
        return {self.by_name[pair] for pair in pairs if pair in self.by_name}

    @staticmethod
    def path(change):
        """A change, and all before it in its chain."""
        while change is not None:
            yield change
            change = change.previous

    def _timeline(self, change):
        return self.branch_of[change.replica]

    def _taken_in(self, change):
        """The changes that count for the author of one, without itself."""
        previous = change.previous
        inherited = self.taken[previous] if previous else set()
        named = self.context[change] - (self.context[previous] if previous else set())
        timelines = self.merges.get(change, set()) | {self._timeline(change)}
        taken = inherited | set(self.path(previous))
        for seen in named:
            if self._timeline(seen) in timelines:
                taken |= set(self.path(seen))
        # What others had merged comes with their merges.
        theirs = set()
        for other in taken - inherited:
            if other in self.merges:
                theirs |= self.taken[other]
        for seen in named & theirs:
            taken |= set(self.path(seen))
        return taken

    def state(self, branch):
        """The state of a branch, or of the main timeline for None."""
        waiting = [change for change in self.changes.values() if self._timeline(change) == branch]
        if branch is not None:
            waiting += self.points(self.openings[branch]["base"])
        counted = set()
        while waiting:
            change = waiting.pop()
            if change not in counted:
                counted.add(change)
                waiting += [*self.path(change), *self.taken[change]]
        # Whether something is merged is not asked here.
        lines = [{**line, "status": "effective"} for line in self.lines if self.change(line) in counted]
        operations = operations_from(lines, self.changes)
        for operation in operations:
            operation.taken = self.taken[operation.change]
        return State(operations).exported()
