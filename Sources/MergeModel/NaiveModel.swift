internal import CRDTCore

/// The rules of merging by brute force: the state is computed from the set of applied operations, all at once.
package struct NaiveModel: Sendable {
    /// An applied operation.
    private struct Fact: Sendable {
        var write: PlainWrite
        /// The number of its change, and those of all that the change's context covers.
        var change: Int
        var context: Set<Int>
        /// The hashes of the changes of its fork, from the first.
        var path: [Hash256]

        /// Whether the author of `other` had seen this operation.
        func isCovered(by other: Fact) -> Bool {
            self.change == other.change ? self.write.index < other.write.index : other.context.contains(self.change)
        }

        /// The order of operations.
        func precedes(_ other: Fact) -> Bool {
            let (mine, theirs) = (self.write, other.write)
            if mine.stamp != theirs.stamp { return mine.stamp < theirs.stamp }
            if mine.replica != theirs.replica { return mine.replica < theirs.replica }
            if mine.sequence != theirs.sequence { return mine.sequence < theirs.sequence }
            let parting = zip(self.path, other.path).first { $0 != $1 }
            return parting.map { $0 < $1 } ?? (mine.index < theirs.index)
        }
    }

    /// Where an object stands.
    private struct Standing {
        var parent: ObjectID?
        var position = Position.initial
    }

    private let facts: [Fact]
    private let heads: [FrontierEntry]
    private let users: [Hash256: UserID]
    private var standings: [ObjectID: Standing] = [:]
    private var movesWithoutEffect: [ObjectID: PlainWrite] = [:]

    /// What counts on the main timeline.
    package init(_ history: NaiveHistory) {
        let verdicts = history.verdicts()
        let counted = history.counted(verdicts)
        var facts: [Fact] = []
        var users: [Hash256: UserID] = [:]
        var heads: [Hash256: FrontierEntry] = [:]
        for (number, stamp) in verdicts.stamps {
            let change = history.changes[number]
            users[change.hash] = history.user(of: number)
            heads[change.hash] = FrontierEntry(replica: change.replica, sequence: change.sequence, hash: change.hash)
            let path = history.path(to: number).map { history.changes[$0].hash }
            guard counted.contains(number) else { continue }
            for (index, edit) in change.edits.enumerated() {
                let write = PlainWrite(
                    stamp: stamp,
                    replica: change.replica,
                    sequence: change.sequence,
                    hash: change.hash,
                    index: index,
                    edit: edit
                )
                facts.append(Fact(write: write, change: number, context: verdicts.contexts[number] ?? [], path: path))
            }
        }
        for number in verdicts.stamps.keys {
            if let previous = history.changes[number].previous { heads[previous] = nil }
        }
        self.facts = facts.sorted { $0.precedes($1) }
        self.users = users
        self.heads = heads.values.sorted()
        self.placeObjects()
    }

    /// Takes the moves in order; one that would put an object under itself has no effect.
    private mutating func placeObjects() {
        for fact in self.facts {
            guard case .move(let object, let place) = fact.write.edit else { continue }
            var ancestor = place.parent
            while let current = ancestor, current != object { ancestor = self.standings[current]?.parent }
            if ancestor == object {
                self.movesWithoutEffect[object] = fact.write
            } else {
                self.standings[object] = Standing(parent: place.parent, position: place.position)
                self.movesWithoutEffect[object] = nil
            }
        }
    }

    /// The state.
    package func state() -> PlainState {
        var mentioned: Set<ObjectID> = []
        for fact in self.facts {
            if let object = fact.write.edit.object { mentioned.insert(object) }
            if case .move(_, let place) = fact.write.edit, let parent = place.parent { mentioned.insert(parent) }
        }
        let alive = mentioned.filter { self.isAlive($0) }
        var visible = alive
        for object in alive {
            var ancestor = self.standings[object]?.parent
            while let current = ancestor {
                visible.insert(current)
                ancestor = self.standings[current]?.parent
            }
        }
        var state = PlainState()
        state.objects = mentioned.sorted().map { self.describe($0, visible: visible) }.filter { !$0.isBlank }
        state.roots = self.siblings(under: nil, of: visible)
        state.movesWithoutEffect = self.movesWithoutEffect.values.sorted()
        state.heads = self.heads
        return state
    }

    private func facts(about object: ObjectID) -> [Fact] { self.facts.filter { $0.write.edit.object == object } }

    /// The users who have deleted an object and not made it again since, be it alive by now or not, each with the stamp
    /// of the last time.
    func deleters(of object: ObjectID) -> [UserID: Stamp] {
        var users: [UserID: Stamp] = [:]
        let facts = self.facts(about: object)
        for deletion in facts where deletion.write.edit.kind == .delete {
            guard let user = self.users[deletion.write.hash] else { continue }
            let isUndone = facts.contains { creation in
                creation.write.edit.kind == .create && self.users[creation.write.hash] == user
                    && creation.write.stamp > deletion.write.stamp && deletion.isCovered(by: creation)
            }
            if !isUndone { users[user] = max(users[user] ?? .zero, deletion.write.stamp) }
        }
        return users
    }

    /// Whether an object lives by itself.
    func isAlive(_ object: ObjectID) -> Bool {
        let about = self.facts(about: object)
        let deletions = about.filter { $0.write.edit.kind == .delete }
        return about.contains { touch in
            touch.write.edit.kind != .delete && !deletions.contains { touch.isCovered(by: $0) }
        }
    }

    private func describe(_ object: ObjectID, visible: Set<ObjectID>) -> PlainObject {
        var result = PlainObject(id: object)
        let about = self.facts(about: object)
        result.isVisible = visible.contains(object)
        result.updated = about.map(\.write.stamp).max() ?? .zero
        if let first = about.first(where: { $0.write.edit.kind == .create }),
            case .create(_, let type, let kind) = first.write.edit
        {
            result.creation = PlainCreation(
                type: type,
                kind: kind,
                creator: self.users[first.write.hash],
                stamp: first.write.stamp
            )
        }
        result.parent = self.standings[object]?.parent
        result.position = self.standings[object]?.position ?? .initial
        result.openMoves = self.uncovered(about.filter { $0.write.edit.kind == .move })
        result.properties = self.properties(about)
        result.children = self.siblings(under: object, of: visible)
        return result
    }

    private func properties(_ about: [Fact]) -> [PlainProperty] {
        var writes: [ModelText: [Fact]] = [:]
        for fact in about {
            switch fact.write.edit {
            case .set(_, let name, _), .unset(_, let name): writes[ModelText(name), default: []].append(fact)
            default: break
            }
        }
        return writes.keys.sorted().compactMap { name in
            let open = self.uncovered(writes[name] ?? [])
            guard let winner = open.last else { return nil }
            return PlainProperty(name: name, winner: winner, conflicts: open.dropLast().sorted())
        }
    }

    /// Those of some writes that none of the others had seen.
    private func uncovered(_ all: [Fact]) -> [PlainWrite] {
        all.filter { fact in !all.contains { fact.isCovered(by: $0) } }.map(\.write)
    }

    private func siblings(under parent: ObjectID?, of visible: Set<ObjectID>) -> [ObjectID] {
        visible.filter { self.standings[$0]?.parent == parent }.sorted {
            let left = self.standings[$0]?.position ?? .initial
            let right = self.standings[$1]?.position ?? .initial
            return left == right ? $0 < $1 : left < right
        }
    }
}
