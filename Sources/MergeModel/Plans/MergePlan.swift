/// A plan of what peers write and merge: who writes what, and what arrives where and when.
///
/// In the end everything arrives everywhere. A plan can be performed in two ways: by peers that merge with the
/// production merge, and by authors that know the naive model alone, whose changes are then handed to stores.
package struct MergePlan: Hashable, Sendable {
    /// What is true of a whole plan.
    package struct Traits: OptionSet, Hashable, Sendable {
        package var rawValue: Int
        package init(rawValue: Int) { self.rawValue = rawValue }

        /// Clocks show whole seconds, so that many stamps are equal.
        package static let coarseClocks = Traits(rawValue: 1)
        /// The names of properties differ only in how a letter is composed.
        package static let lookalikes = Traits(rawValue: 2)
        /// Peers introduce themselves in the first change that they write, and not before the first step.
        package static let introducedLate = Traits(rawValue: 4)
        /// The clocks of the stores that all changes are handed to are set back now and then.
        package static let clocksSetBack = Traits(rawValue: 8)
        /// Two of three chains belong to branches of the workspace.
        package static let branches = Traits(rawValue: 16)
        /// Some writes to properties come behind an erasure of the past of theirs, and nodes erase.
        package static let erasures = Traits(rawValue: 32)
        /// Users grant and remove, and chains that begin later are written under what is granted by then.
        package static let rights = Traits(rawValue: 64)

        /// Each trait with its word in the text of a plan.
        static let words: [(word: String, trait: Traits)] = [
            ("coarse", .coarseClocks), ("alike", .lookalikes), ("late", .introducedLate), ("back", .clocksSetBack),
            ("branches", .branches), ("erasures", .erasures), ("rights", .rights),
        ]
    }

    package var peerCount: Int
    /// A peer whose clock is so far ahead that others hold its changes.
    package var fastPeer: Int?
    package var traits: Traits
    /// The number that everything is drawn from that is not said by the steps: the ids of replicas, and the order in
    /// which stores are handed the changes.
    package var seed: UInt64
    package var steps: [MergeStep]

    /// The numbers of peers that are possible.
    package static let peerCounts = 2...7

    package init(peerCount: Int, fastPeer: Int? = nil, traits: Traits = [], seed: UInt64 = 0, steps: [MergeStep]) {
        self.peerCount = peerCount
        self.fastPeer = fastPeer
        self.traits = traits
        self.seed = seed
        self.steps = steps
    }

    /// Whether any change lies.
    package var hasLies: Bool {
        self.steps.contains { if case .lie = $0 { true } else { false } }
    }

    /// Whether everything exists that the steps name.
    package var isPossible: Bool {
        guard MergePlan.peerCounts.contains(self.peerCount) else { return false }
        let peers = 0..<self.peerCount
        guard self.fastPeer.map({ peers.contains($0) }) ?? true else { return false }
        // Each peer writes a chain, and each replica that is opened later one more.
        var chainCount = self.peerCount
        for step in self.steps {
            guard peers.contains(step.peer ?? 0) else { return false }
            switch step {
            case .write(_, _, let edits):
                guard !edits.isEmpty, edits.allSatisfy({ $0.isPossible(chainCount: chainCount) }) else { return false }
            case .deliver(let peer, let chain, let count):
                guard chain < chainCount, peer != chain, count > 0 else { return false }
            case .synchronise(let peer, let other): guard peers.contains(other), peer != other else { return false }
            case .repeated(_, let chain, let number): guard chain < chainCount, number > 0 else { return false }
            case .restore(_, let other): guard peers.contains(other) else { return false }
            case .reopen:
                chainCount += 1
                guard chainCount <= MergePlan.chainCountMax else { return false }
            case .wait(let seconds): guard seconds > 0 else { return false }
            case .backUp, .setClock, .lie: continue
            }
        }
        return true
    }

    private static let chainCountMax = 100
}

extension PlannedEdit {
    /// Whether everything exists that the edit names, if there are so many chains.
    fileprivate func isPossible(chainCount: Int) -> Bool {
        func isObject(_ number: UInt8) -> Bool { number < PlanVocabulary.objectCount }
        func isName(_ number: UInt8) -> Bool { PlanVocabulary.names.indices.contains(Int(number)) }
        switch self {
        case .create(let object, let sort):
            return isObject(object) && PlanVocabulary.sorts.indices.contains(Int(sort))
        case .delete(let object): return isObject(object)
        case .set(let object, let name, let value):
            return isObject(object) && isName(name) && PlanVocabulary.values.indices.contains(Int(value))
        case .setNumber(let object, let name, _), .unset(let object, let name): return isObject(object) && isName(name)
        case .move(let object, let parent, let position):
            return isObject(object) && parent.map { isObject($0) } ?? true
                && PlanVocabulary.positions.indices.contains(Int(position))
        case .restamp(let chain, let first, let last): return chain < chainCount && first > 0 && last > 0
        case .unknown(let kind, let byteCount):
            return PlanVocabulary.unknownKinds.contains(kind) && byteCount <= PlanVocabulary.unknownByteCountMax
        }
    }
}

// MARK: - As text

/// A text that is no plan.
package struct UnknownPlan: Error, CustomStringConvertible {
    package var text: String
    package var description: String { "“\(self.text)” is not a plan." }
}

extension MergePlan {
    /// The plan as one word: `3@2+coarse#17:0c1,0<1.4,…`.
    ///
    /// That is the number of peers, the peer whose clock is ahead, the traits, the seed, and the steps.
    package var text: String {
        let fast = self.fastPeer.map { "@\($0)" } ?? ""
        let traits = Traits.words.filter { self.traits.contains($0.trait) }.map { "+\($0.word)" }.joined()
        let seed = self.seed == 0 ? "" : "#\(self.seed)"
        return "\(self.peerCount)\(fast)\(traits)\(seed):" + self.steps.map(\.description).joined(separator: ",")
    }

    package init(text: String) throws(UnknownPlan) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, let plan = MergePlan(header: parts[0]) else { throw UnknownPlan(text: text) }
        let steps = parts[1].split(separator: ",").map { MergeStepReader.step($0) }
        self = plan
        self.steps = steps.compactMap { $0 }
        guard !steps.contains(nil), self.isPossible else { throw UnknownPlan(text: text) }
    }

    /// The part of the text before the colon: a plan without steps.
    private init?(header text: Substring) {
        let seeded = text.split(separator: "#", omittingEmptySubsequences: false)
        let words = seeded[0].split(separator: "+", omittingEmptySubsequences: false)
        let peers = words[0].split(separator: "@", omittingEmptySubsequences: false)
        guard seeded.count <= 2, peers.count <= 2, let peerCount = Int(peers[0]) else { return nil }
        self.init(peerCount: peerCount, steps: [])
        if peers.count == 2 {
            guard let fastPeer = Int(peers[1]) else { return nil }
            self.fastPeer = fastPeer
        }
        for word in words.dropFirst() {
            guard let trait = Traits.words.first(where: { $0.word == word })?.trait else { return nil }
            self.traits.insert(trait)
        }
        if seeded.count == 2 {
            guard let seed = UInt64(seeded[1]) else { return nil }
            self.seed = seed
        }
    }
}
