package import CRDTCore

/// One change as the model sees it.
package struct NaiveChange: Hashable, Sendable {
    package var replica: ReplicaID
    package var sequence: UInt64
    package var hash: Hash256
    /// The hash of the change that this one extends; nil for a first change.
    package var previous: Hash256?
    /// The stamp that its author gave it.
    package var stamp: Stamp
    /// What the header names: what the author had seen newly.
    package var context: [Point]
    package var edits: [Edit]

    package init(
        replica: ReplicaID,
        sequence: UInt64,
        hash: Hash256,
        previous: Hash256?,
        stamp: Stamp,
        context: [Point],
        edits: [Edit]
    ) {
        self.replica = replica
        self.sequence = sequence
        self.hash = hash
        self.previous = previous
        self.stamp = stamp
        self.context = context
        self.edits = edits
    }

    /// What names the change in contexts.
    package var point: Point { Point(replica: self.replica, sequence: self.sequence, name: ChangeName(self.hash)) }
}

/// A set of changes, and what follows from it, by the words of the design and without regard to speed.
///
/// Nothing here is shared with the production merge but the names of changes.
package struct NaiveHistory: Sendable {
    /// In any order; the predecessor of each is among them.
    package private(set) var changes: [NaiveChange] = []
    package var now: WallTime
    private let founder: UserID
    private var numbers: [Hash256: Int] = [:]

    package init(_ changes: some Sequence<NaiveChange>, founder: UserID, now: WallTime) {
        self.founder = founder
        self.now = now
        for change in changes { self.add(change) }
    }

    /// Takes one more change in.
    package mutating func add(_ change: NaiveChange) {
        guard self.numbers.updateValue(self.changes.count, forKey: change.hash) == nil else { return }
        self.changes.append(change)
    }

    /// How far ahead of the clock a change may be stamped and still be applied.
    private static let toleranceMilliseconds: UInt64 = 10 * 60 * 1000

    /// What is applied, by the number of the change.
    package struct Verdicts: Sendable {
        /// The effective stamp of each applied change.
        package var stamps: [Int: Stamp] = [:]
        /// What the context of each applied change covers: what was named along its branch, with all before that in the
        /// chain of each, and the branch itself.
        ///
        /// Of honest authors that is all that they had seen, since they name every chain.
        package var contexts: [Int: Set<Int>] = [:]
        /// The effective stamps of those that are held.
        package var held: [Int: Stamp] = [:]
    }

    /// What a point means.
    private enum Meaning {
        case missing
        /// The beginning of the chain.
        case nothing
        case change(Int)
    }

    /// Applies whatever can be applied: that of which the whole past is, and which is not held.
    package func verdicts() -> Verdicts {
        var verdicts = Verdicts()
        let restamped = self.restamped()
        let direct = self.changes.indices.map { self.directPast(of: $0) }
        var progress = true
        while progress {
            progress = false
            for (number, change) in self.changes.enumerated() where verdicts.stamps[number] == nil {
                guard let causes = direct[number] else { continue }
                let stamps = causes.compactMap { verdicts.stamps[$0] }
                guard stamps.count == causes.count else { continue }
                let own = restamped.contains(number) ? 0 : change.stamp.rawValue
                let stamp = stamps.reduce(own) { max($0, $1.rawValue == .max ? .max : $1.rawValue + 1) }
                if stamp >> 16 > self.now.milliseconds + NaiveHistory.toleranceMilliseconds {
                    verdicts.held[number] = Stamp(rawValue: stamp)
                    continue
                }
                verdicts.stamps[number] = Stamp(rawValue: stamp)
                let inherited = change.previous.flatMap { self.numbers[$0] }.flatMap { verdicts.contexts[$0] } ?? []
                verdicts.contexts[number] = causes.reduce(into: inherited) { $0.formUnion(self.path(to: $1)) }
                progress = true
            }
        }
        return verdicts
    }

    /// The number of the change with a hash.
    package func number(of hash: Hash256) -> Int? { self.numbers[hash] }

    /// The changes from the first of the chain to one, along its branch.
    package func path(to number: Int) -> [Int] {
        var path: [Int] = []
        var next: Int? = number
        while let current = next {
            path.append(current)
            next = self.changes[current].previous.flatMap { self.numbers[$0] }
        }
        return path.reversed()
    }

    /// The user whose device wrote a change, as the first change of its branch says.
    package func user(of number: Int) -> UserID? {
        for case .introduce(let introduction) in self.changes[self.path(to: number)[0]].edits {
            return introduction.user
        }
        return nil
    }

    /// The predecessor of a change and all that its points mean; nil if something of that is not there.
    private func directPast(of number: Int) -> Set<Int>? {
        var past: Set<Int> = []
        if let previous = self.changes[number].previous {
            guard let predecessor = self.numbers[previous] else { return nil }
            past.insert(predecessor)
        }
        for point in self.changes[number].context {
            switch self.meaning(of: point) {
            case .missing: return nil
            case .nothing: continue
            case .change(let seen): past.insert(seen)
            }
        }
        return past
    }

    /// A point means the change that it names, or, if several have that name, their last common predecessor.
    private func meaning(of point: Point) -> Meaning {
        let named = self.changes.indices.filter { self.changes[$0].point == point }
        guard let first = named.first else { return .missing }
        let common = named.dropFirst().reduce(self.path(to: first)) { common, other in
            let path = self.path(to: other)
            return common.filter { path.contains($0) }
        }
        return common.last.map { .change($0) } ?? .nothing
    }

    /// The changes that are restamped by right.
    ///
    /// A restamp counts wherever it is stored, be its change held or waiting.
    private func restamped() -> Set<Int> {
        var restamped: Set<Int> = []
        for (author, change) in self.changes.enumerated() {
            for case .restamp(let restamp) in change.edits {
                guard let last = self.numbers[restamp.lastHash] else { continue }
                let target = self.changes[last]
                guard target.replica == restamp.replica, target.sequence == restamp.lastSequence else { continue }
                let user = self.user(of: author)
                guard user == self.founder || user == self.user(of: last) else { continue }
                restamped.formUnion(
                    self.path(to: last).filter { self.changes[$0].sequence >= restamp.firstSequence }
                )
            }
        }
        return restamped
    }
}
