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
    let founder: UserID
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

    /// The same changes with other edits.
    package func mappingEdits(_ change: (Int, [Edit]) -> [Edit]) -> NaiveHistory {
        var other = self
        for number in self.changes.indices { other.changes[number].edits = change(number, self.changes[number].edits) }
        return other
    }

    /// Only the changes up to a frontier, in the order that all of them have.
    package func upTo(_ frontier: Frontier) -> NaiveHistory {
        var kept: Set<Int> = []
        for entry in frontier.entries {
            if let number = self.numbers[entry.hash] { kept.formUnion(self.path(to: number)) }
        }
        return self.keeping(kept, self.verdicts()) { $0 }
    }

    /// What counts on a branch of the workspace (nil: on the main timeline) as if nobody knew of branches: written by
    /// devices that were offline since a branch began, and came back where it was merged.
    package func madeOffline(on branch: BranchID?, _ verdicts: Verdicts) -> NaiveHistory {
        var ends = verdicts.stamps.keys.filter { self.branch(of: $0) == branch }
        if let branch { ends += self.base(of: branch).filter { verdicts.stamps[$0] != nil } }
        return self.counting(self.closure(of: ends, verdicts), verdicts)
    }

    /// Some changes, of which all count, as if nobody knew of branches.
    package func counting(_ kept: Set<Int>, _ verdicts: Verdicts) -> NaiveHistory {
        self.keeping(kept, verdicts) { edit in
            switch edit {
            case .branch: return .undo(NaiveHistory.nothing)
            case .introduce(var introduction):
                introduction.branch = nil
                return .introduce(introduction)
            default: return edit
            }
        }
    }

    /// Whether a branch is open: nobody has given it up, or something was written on it that nobody had seen who has.
    package func isOpen(_ branch: BranchID, _ verdicts: Verdicts) -> Bool {
        var (isGivenUp, seen) = (false, Set<Int>())
        for number in verdicts.stamps.keys {
            guard let user = self.user(of: number), branch.isGiven(by: user),
                self.changes[number].edits.contains(.branch(.closes(branch)))
            else { continue }
            isGivenUp = true
            for named in self.named(by: number) { seen.formUnion(self.path(to: named)) }
            seen.formUnion(self.path(to: number))
        }
        return !isGivenUp
            || self.changes.indices.contains { self.branch(of: $0) == branch && !seen.contains($0) }
    }

    /// What a branch begins with, as far as it is here: of several openings the one with the lowest bytes counts.
    package func base(of branch: BranchID) -> [Int] {
        var openings: [BranchOpening] = []
        for (number, change) in self.changes.enumerated() {
            guard let user = self.user(of: number), branch.isGiven(by: user) else { continue }
            for case .branch(.opens(let opening)) in change.edits where opening.id == branch {
                openings.append(opening)
            }
        }
        func bytes(_ opening: BranchOpening) -> [UInt8] {
            var bytes: [UInt8] = []
            BranchStatement.opens(opening).encode(to: &bytes)
            return bytes
        }
        let first = openings.min { bytes($0).lexicographicallyPrecedes(bytes($1)) }
        return (first?.base ?? []).compactMap { self.numbers[$0.hash] }
    }

    /// Some changes with all that they had seen, in the order that all of them have.
    private func keeping(_ kept: Set<Int>, _ verdicts: Verdicts, _ changed: (Edit) -> Edit) -> NaiveHistory {
        let changes = kept.sorted().map { number in
            var change = self.changes[number]
            change.stamp = verdicts.stamps[number] ?? change.stamp
            if let context = verdicts.contexts[number] {
                // What it has taken in, and not what it names besides.
                let before = change.previous.flatMap { self.numbers[$0] }.flatMap { verdicts.contexts[$0] } ?? []
                let news = context.intersection(kept).subtracting(before).subtracting(self.path(to: number))
                change.context = news.map { self.changes[$0].point }.sorted()
            }
            change.edits = change.edits.map { edit in
                // Restamps are in the stamps already; their places in the change stay.
                if case .restamp = edit { .undo(NaiveHistory.nothing) } else { changed(edit) }
            }
            return change
        }
        return NaiveHistory(changes, founder: self.founder, now: self.now)
    }

    /// An edit that no state shows.
    static let nothing = Undo(
        target: NamedChange(replica: ReplicaID(bytes: Bytes16(high: 0, low: 0)), sequence: 1, hash: .zero),
        isRedo: false
    )

    /// How far ahead of the clock a change may be stamped and still be applied.
    private static let toleranceMilliseconds: UInt64 = 10 * 60 * 1000

    /// What is applied, by the number of the change.
    package struct Verdicts: Sendable {
        /// The effective stamp of each applied change.
        package var stamps: [Int: Stamp] = [:]
        /// What the context of each applied change covers: what was named along its fork, with all before that in the
        /// chain of each.
        ///
        /// Of what is named of other timelines that is only what a change says that it merges, or what was merged by
        /// a change that it covers.
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
                verdicts.contexts[number] = self.context(of: number, verdicts)
                progress = true
            }
        }
        return verdicts
    }

    /// What a change has taken in, if that is known of all that it had seen.
    private func context(of number: Int, _ verdicts: Verdicts) -> Set<Int> {
        let previous = self.changes[number].previous.flatMap { self.numbers[$0] }
        let timelines = self.merged(by: number).union([self.branch(of: number)])
        let inherited = previous.flatMap { verdicts.contexts[$0] } ?? []
        var context = inherited
        if let previous { context.formUnion(self.path(to: previous)) }
        let named = self.named(by: number)
        for seen in named where timelines.contains(self.branch(of: seen)) { context.formUnion(self.path(to: seen)) }
        // What others had merged is taken in with their merges.
        let merges = context.subtracting(inherited).filter { !self.merged(by: $0).isEmpty }
        let merged = merges.reduce(into: Set<Int>()) { $0.formUnion(verdicts.contexts[$1] ?? []) }
        for seen in named where merged.contains(seen) { context.formUnion(self.path(to: seen)) }
        return context
    }

    /// The timelines that a change says by right that it merges.
    package func merged(by number: Int) -> Set<BranchID?> {
        var merged: Set<BranchID?> = []
        for case .branch(.merges(let branch)) in self.changes[number].edits {
            guard let user = self.user(of: number), branch.map({ $0.isGiven(by: user) }) ?? true else { continue }
            merged.insert(branch)
        }
        return merged
    }

    /// The changes that a change names.
    private func named(by number: Int) -> [Int] {
        self.changes[number].context.compactMap { point in
            if case .change(let named) = self.meaning(of: point) { named } else { nil }
        }
    }

    /// The number of the change with a hash.
    package func number(of hash: Hash256) -> Int? { self.numbers[hash] }

    /// The changes from the first of the chain to one, along its fork.
    package func path(to number: Int) -> [Int] {
        var path: [Int] = []
        var next: Int? = number
        while let current = next {
            path.append(current)
            next = self.changes[current].previous.flatMap { self.numbers[$0] }
        }
        return path.reversed()
    }

    /// The user whose device wrote a change, as the first change of its fork says.
    package func user(of number: Int) -> UserID? { self.introduction(of: number)?.user }

    /// The device that wrote a change.
    package func device(of number: Int) -> DeviceID? { self.introduction(of: number)?.device }

    /// The branch of the workspace that a change is on, as the first change of its chain says; nil for the main
    /// timeline.
    package func branch(of number: Int) -> BranchID? { self.introduction(of: number)?.branch }

    /// The circle that a change is in.
    package func circle(of number: Int) -> Circle { self.introduction(of: number)?.circle ?? .home }

    func introduction(of number: Int) -> Introduction? {
        for case .introduce(let introduction) in self.changes[self.path(to: number)[0]].edits { return introduction }
        return nil
    }

    /// The applied changes that count in the main state: those of the main timeline and all that they have taken in,
    /// and what that has taken in, and so on.
    package func counted(_ verdicts: Verdicts) -> Set<Int> {
        self.closure(of: verdicts.stamps.keys.filter { self.branch(of: $0) == nil }, verdicts)
    }

    /// Some changes with all that they have taken in, and all that that has taken in, and so on.
    package func closure(of numbers: [Int], _ verdicts: Verdicts) -> Set<Int> {
        var (counted, waiting) = (Set<Int>(), numbers)
        while let next = waiting.popLast() {
            guard counted.insert(next).inserted else { continue }
            waiting += self.path(to: next) + (verdicts.contexts[next] ?? [])
        }
        return counted
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
                // From the end back to the first that is stamped no later.
                restamped.formUnion(
                    self.path(to: last).reversed().prefix {
                        self.changes[$0].sequence >= restamp.firstSequence && self.changes[$0].stamp > change.stamp
                    }
                )
            }
        }
        return restamped
    }
}
