internal import CRDTCore

/// The rules of merging by brute force: the state is computed from the set of effective operations, all at once.
package struct NaiveModel: Sendable {
    /// An effective operation.
    private struct Fact: Sendable {
        var write: PlainWrite
        var context: [ReplicaID: UInt64]

        /// Whether the author of `other` had seen this operation.
        func isCovered(by other: Fact) -> Bool {
            if self.write.replica == other.write.replica {
                return (self.write.sequence, self.write.index) < (other.write.sequence, other.write.index)
            }
            return self.write.sequence <= other.context[self.write.replica] ?? 0
        }
    }

    /// Where an object stands.
    private struct Standing {
        var parent: ObjectID?
        var position = Position.initial
    }

    private let facts: [Fact]
    private let verdicts: NaiveHistory.Verdicts
    private let users: [ReplicaID: UserID]
    private var standings: [ObjectID: Standing] = [:]
    private var movesWithoutEffect: [ObjectID: PlainWrite] = [:]

    package init(_ history: NaiveHistory) {
        self.verdicts = history.verdicts()
        var facts: [Fact] = []
        var users: [ReplicaID: UserID] = [:]
        for (replica, last) in self.verdicts.counted {
            for change in (history.chains[replica] ?? []).prefix(Int(last)) {
                let context = history.context(of: change.dot)
                for (index, edit) in change.edits.enumerated() {
                    if case .introduce(let introduction) = edit { users[replica] = introduction.user }
                    let write = PlainWrite(
                        stamp: change.stamp,
                        replica: replica,
                        sequence: change.dot.sequence,
                        index: index,
                        edit: edit
                    )
                    facts.append(Fact(write: write, context: context))
                }
            }
        }
        self.facts = facts.sorted { $0.write < $1.write }
        self.users = users
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
        state.counted = self.verdicts.counted.filter { $0.value > 0 }
            .map { Dot(replica: $0.key, sequence: $0.value) }.sorted()
        state.exclusions = self.verdicts.exclusions.map { Dot(replica: $0.key, sequence: $0.value) }.sorted()
        return state
    }

    private func facts(about object: ObjectID) -> [Fact] { self.facts.filter { $0.write.edit.object == object } }

    private func isAlive(_ object: ObjectID) -> Bool {
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
                creator: self.users[first.write.replica],
                stamp: first.write.stamp
            )
        }
        result.parent = self.standings[object]?.parent
        result.position = self.standings[object]?.position ?? .initial
        result.properties = self.properties(about)
        result.children = self.siblings(under: object, of: visible)
        return result
    }

    private func properties(_ about: [Fact]) -> [PlainProperty] {
        var writes: [ExactText: [Fact]] = [:]
        for fact in about {
            switch fact.write.edit {
            case .set(_, let name, _), .unset(_, let name): writes[ExactText(name), default: []].append(fact)
            default: break
            }
        }
        return writes.keys.sorted().compactMap { name in
            let all = writes[name] ?? []
            guard let winner = all.last else { return nil }
            let conflicts = all.dropLast().filter { fact in !all.contains { fact.isCovered(by: $0) } }
            return PlainProperty(name: name, winner: winner.write, conflicts: conflicts.map(\.write))
        }
    }

    private func siblings(under parent: ObjectID?, of visible: Set<ObjectID>) -> [ObjectID] {
        visible.filter { self.standings[$0]?.parent == parent }.sorted {
            let left = self.standings[$0]?.position ?? .initial
            let right = self.standings[$1]?.position ?? .initial
            return left == right ? $0 < $1 : left < right
        }
    }
}
