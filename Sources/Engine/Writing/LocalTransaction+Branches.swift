package import CRDTCore
internal import PeerCrypto

/// Branches of the workspace: opened, merged and given up.
extension LocalTransaction {
    /// Opens a branch that begins with some changes and all that their authors had seen.
    ///
    /// - Parameters:
    ///   - name: what it is called, in 1 to 512 bytes.
    ///   - parent: the branch that it leaves; nil for the main timeline.
    ///   - base: the changes; nil for all that counts on the parent now.
    /// - Returns: its id.
    /// - Throws: `WriteRefusal` if the name or the base is too long, on a branch, or if a value that the branch would
    ///   show was dropped.
    package mutating func openBranch(
        named name: String,
        leaving parent: BranchID?,
        at base: [SegmentPoint]?
    ) throws(WriteRefusal) -> BranchID {
        guard self.branch == nil else { throw .notOnBranch }
        guard (1...Limits.nameByteCountMax).contains(name.utf8.count) else {
            throw .tooLarge(what: "the name of a branch, in bytes", limit: Limits.nameByteCountMax)
        }
        let changes = try self.readCommitted { store throws(StoreError) in
            try Self.beginning(at: base, of: parent, in: &store)
        }
        guard changes.count <= Limits.branchBaseCountMax else {
            throw .tooLarge(what: "changes that a branch begins with", limit: Limits.branchBaseCountMax)
        }
        let id = BranchID(of: self.plan.user, nonce: self.entropy.nextUInt64())
        try self.plan.note(.opens(BranchOpening(id: id, parent: parent, name: name, base: changes)))
        return id
    }

    /// The changes that a branch begins with.
    ///
    /// In a function of its own, since Swift 6.3.1 crashes on it in the closure above, unless it may be tested.
    private static func beginning(
        at base: [SegmentPoint]?,
        of parent: BranchID?,
        in store: inout some StoreTransaction
    ) throws(StoreError) -> [NamedChange] {
        guard let base else { return try self.named(try store.heads(of: parent), in: &store) }
        let seen = try store.closure(of: base)
        try store.requireKept(in: try HistoryView(seen: seen, in: &store))
        return try self.named(base, in: &store)
    }

    private static func named(
        _ points: [SegmentPoint],
        in store: inout some StoreTransaction
    ) throws(StoreError) -> [NamedChange] {
        var changes: [NamedChange] = []
        for point in points {
            guard let hash = try store.hash(at: point) else { continue }
            changes.append(NamedChange(replica: store.replicaID(point.segment), sequence: point.sequence, hash: hash))
        }
        return changes.sorted { ($0.replica, $0.sequence, $0.hash) < ($1.replica, $1.sequence, $1.hash) }
    }

    /// Gives up what is applied here of a branch: what was not merged of it stays in the log, and counts nowhere.
    ///
    /// What others write there without having heard of it stays, and keeps the branch open.
    ///
    /// `countMax`: how many changes may go with it that count nowhere else.
    package mutating func closeBranch(_ id: BranchID, discardingAtMost countMax: Int) throws(WriteRefusal) {
        try self.requireBranch(id)
        if countMax < .max {
            let (entry, edits) = try self.readCommitted { store throws(StoreError) in
                (store.branches[id], try store.unmergedEdits(of: id))
            }
            if let entry, edits.changeCount > countMax {
                throw .branchUnmerged(
                    entry,
                    changes: edits.changeCount,
                    objects: Array(edits.objects.sorted().prefix(Self.namedObjectCountMax)),
                    objectCount: edits.objects.count
                )
            }
        }
        let seen = try self.readCommitted { store throws(StoreError) in
            var seen = SeenSegments()
            for segment in store.segmentIndices {
                let progress = store.progress(of: segment)
                guard progress.branch == id, progress.hasApplied else { continue }
                _ = seen.raise(segment, to: progress.appliedSequence)
            }
            return seen
        }
        self.plan.closed.formUnion(seen)
        try self.plan.note(.closes(id))
    }

    /// Merges a branch, or the main timeline for nil, into the timeline that is written to.
    ///
    /// Nothing is written if nothing is new.
    /// - Returns: whether anything was.
    package mutating func merge(_ other: BranchID?) throws(WriteRefusal) -> Bool {
        if let other { try self.requireBranch(other) }
        guard other != self.branch else { return false }
        let heads = try self.readCommitted { store throws(StoreError) -> [SegmentPoint]? in
            if let other, try !store.holdsBase(of: other) { return nil }
            return try store.heads(of: other)
        }
        guard let heads else { throw .branchIncomplete(other ?? BranchID(bytes: Bytes16(high: 0, low: 0))) }
        let target = self.branch
        let (news, timelines) = try self.readCommitted { store throws(StoreError) in
            let seen = try store.closure(of: store.heads(of: target))
            let news = heads.filter { seen[$0.segment] < $0.sequence }
            // Nobody has written on a branch whose heads are those of another timeline.
            return (try store.closure(of: news), Set(news.map { store.progress(of: $0.segment).branch }))
        }
        guard !timelines.subtracting([target]).isEmpty else { return false }
        self.plan.seen.formUnion(news)
        for case let timeline in timelines.sorted(by: { $0.isListed(before: $1) }) where timeline != target {
            try self.plan.note(.merges(timeline))
        }
        return true
    }

    /// So many objects of a branch are named at most when it is not given up.
    private static let namedObjectCountMax = 10

    private mutating func requireBranch(_ id: BranchID) throws(WriteRefusal) {
        let isOpen = try self.readCommitted { store throws(StoreError) in
            store.openBranch(id) != nil
        }
        guard isOpen else { throw .noSuchBranch(id) }
    }
}
