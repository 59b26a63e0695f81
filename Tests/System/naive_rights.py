"""Who may do what in a circle, as ARCHITECTURE.md says it and without regard to speed: written apart from the program,
in three layers, none of which looks at a later one. A circle is what `Simulator circles --json` prints."""

ROLES = ["owner", "manager", "writer", "reader"]
OWNER, MANAGER, WRITER, READER = range(4)


class Rights:
    def __init__(self, circle):
        self.owner, self.devices, self.changes = circle["owner"], circle["devices"], circle["changes"]
        # Devices that are removed, with those that are kept and the changes that stay.
        self.stolen = []
        # Grants and removals that count, each with the level of who says it.
        self.grants, self.removals = {}, {}
        self.judge_devices()
        self.judge_owner()
        self.judge_managers()

    def said(self, kind):
        for number, change in enumerate(self.changes):
            for index, statement in enumerate(change["statements"]):
                if kind in statement:
                    yield (number, index), statement

    def user(self, change):
        return self.devices[self.changes[change]["device"]]["user"]

    def line(self, change):
        """The device of a change, and those that vouch for it, the nearest first."""
        device = self.changes[change]["device"]
        return [device, *self.devices[device]["issuers"]]

    def path(self, change):
        while change is not None:
            yield change
            change = self.changes[change]["previous"]

    def is_within(self, heads, change):
        return any(change in self.path(head) for head in heads)

    # The three layers.

    def judge_devices(self):
        def rank(said):
            device = self.devices[self.changes[said[0][0]]["device"]]
            return device["user"] != self.owner, -device["generation"], len(device["issuers"])

        for (change, _), removal in sorted(self.said("device-removal"), key=rank):
            author, removed = self.devices[self.changes[change]["device"]], self.devices[removal["device-removal"]]
            is_above = author["user"] == removed["user"] and (
                self.changes[change]["device"] in removed["issuers"] or author["generation"] > removed["generation"]
            )
            is_owners = author["user"] == self.owner != removed["user"]
            if (is_above or is_owners) and self.stands(change):
                self.stolen.append((removal["device-removal"], set(removal["keep"]), removal["heads"]))

    def judge_owner(self):
        for place, grant in self.said("grant"):
            if self.user(place[0]) == self.owner and self.stands(place[0]) and ROLES.index(grant["role"]) > OWNER:
                self.grants[place] = (OWNER, grant)
        for place, removal in self.said("removal"):
            if self.stands(place[0]) and removal["removal"] != self.owner:
                if self.user(place[0]) == self.owner:
                    self.removals[place] = (OWNER, removal, {ROLES.index(role) for role in removal["roles"]})
                elif self.user(place[0]) == removal["removal"]:
                    self.removals[place] = (READER, removal, {ROLES.index(role) for role in removal["roles"]})

    def judge_managers(self):
        def is_manager(change):
            return self.user(change) != self.owner and self.stands(change) and any(
                grant["role"] == "manager" and self.admits(place, change) for place, (_, grant) in self.grants.items()
            )

        managers = {change for change in range(len(self.changes)) if is_manager(change)}
        grants, removals = {}, {}
        for place, grant in self.said("grant"):
            if place[0] in managers and ROLES.index(grant["role"]) > MANAGER:
                grants[place] = (MANAGER, grant)
        for place, removal in self.said("removal"):
            roles = {ROLES.index(role) for role in removal["roles"]} - {OWNER, MANAGER}
            if place[0] in managers and removal["removal"] != self.owner:
                # A manager who leaves as a manager does so for himself.
                removals[place] = (MANAGER, removal, roles)
        self.grants |= grants
        self.leaving = {place: self.removals[place] for place in removals if place in self.removals}
        self.removals |= {place: removal for place, removal in removals.items() if place not in self.leaving}
        self.own = {place: removals[place] for place in self.leaving}

    # One change.

    def stands(self, change):
        line = self.line(change)
        for device, keep, heads in self.stolen:
            if device in line and not keep & set(line[:line.index(device)]) and not self.is_within(heads, change):
                return False
        return True

    def admits(self, place, change):
        """Whether a change is written under a grant that nothing has taken back there."""
        level, grant = self.grants[place]
        first = list(self.path(change))[-1]
        if grant["grant"] != self.user(change) or list(place) not in self.changes[first]["under"]:
            return False
        counting = [*self.removals.items(), *getattr(self, "own", {}).items()]
        for other, (removing, removal, roles) in counting:
            if removal["removal"] == self.user(change) and ROLES.index(grant["role"]) in roles:
                is_overridden = list(other) in grant["despite"] and level <= removing
                if not is_overridden and not self.is_within(removal["heads"], change):
                    return False
        return True

    def may(self, change, need):
        if not self.stands(change):
            return False
        if self.user(change) == self.owner:
            return True
        word, _, name = need.partition(" ")
        role = WRITER if word == "write" else ROLES.index(word)
        for place, (_, grant) in self.grants.items():
            granted = ROLES.index(grant["role"])
            names = grant["names"] if granted == WRITER else None
            is_enough = granted < role or granted == role and (
                role != WRITER or names is None or word == "write" and name in names
            )
            if is_enough and self.admits(place, change):
                return True
        return False

    def reads(self, device):
        """Whether the circle is sent to a device now: as if it wrote something in a new chain."""
        under = [list(place) for place, (_, grant) in self.grants.items()
                 if grant["grant"] == self.devices[device]["user"]]
        self.changes.append({"device": device, "previous": None, "under": under, "statements": []})
        try:
            return self.may(len(self.changes) - 1, "reader")
        finally:
            self.changes.pop()
