/// Which objects there are: what lives, what shows, and what was created.
extension History {
    /// Every operation on an object that the view has, moves, creations and deletions included, in no particular order.
    package func operations(
        on object: ObjectIndex,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> [WriteReference] {
        var found = try transaction.countedHistory(of: object).filter(self.view.counts)
        for operation in try self.unmergedOperations(on: object, in: &transaction) {
            found.append(try transaction.write(of: operation))
        }
        return found
    }

    /// Those of them that delete it.
    package func deletions(
        of object: ObjectIndex,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> [WriteReference] {
        let recorded = try transaction.deletions(of: object).filter(self.view.counts)
        return try recorded + self.unmerged(.delete, of: object, in: &transaction)
    }

    /// Those of them that create it.
    func creations(
        of object: ObjectIndex,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> [WriteReference] {
        var recorded = try transaction.creations(of: object)
        if let first = try transaction.look(at: object, { $0.creation?.write }) { recorded.append(first) }
        return try recorded.filter(self.view.counts) + self.unmerged(.create, of: object, in: &transaction)
    }

    /// Whether an object lives: some touch counts that no deletion that counts had seen.
    ///
    /// - Complexity: O(log *n*) for an object that was never deleted before; else O(*n*) in the writes to it.
    package mutating func isAlive(
        _ object: ObjectIndex,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Bool {
        if self.isPresent { return try transaction.look(at: object) { $0.existence.isAlive } }
        if let known = self.lives[object] { return known }
        if self.lives.count >= Self.keptCountMax { self.lives.removeAll(keepingCapacity: true) }
        let isAlive = try self.findLife(of: object, in: &transaction)
        self.lives[object] = isAlive
        return isAlive
    }

    private mutating func findLife(
        of object: ObjectIndex,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Bool {
        let deletions = Set(try self.deletions(of: object, in: &transaction))
        if deletions.isEmpty, let creation = try transaction.look(at: object, { $0.creation }),
            self.view.counts(creation.write)
        {
            return true
        }
        let operations = try self.operations(on: object, in: &transaction)
        var (touches, contexts): ([WriteReference], [CausalContext]) = ([], [])
        for write in operations {
            if deletions.contains(write) {
                let seen = try transaction.context(at: write.point)
                contexts.append(CausalContext(seen: seen, author: write.segment, ordinal: write.ordinal))
            } else {
                if deletions.isEmpty { return true }
                touches.append(write)
            }
        }
        if touches.contains(where: { touch in !contexts.contains { $0.covers(touch) } }) { return true }
        return try transaction.isTouched(object, besides: contexts, in: self.view)
    }

    /// The creation that decides what an object was: the first that counts, those of the id's owner before others.
    package func creation(
        of object: ObjectIndex,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> ObjectRecord.Creation? {
        let known = try transaction.look(at: object, { $0.creation })
        if self.isPresent { return known }
        let added = try self.unmerged(.create, of: object, in: &transaction)
        if let known, self.view.counts(known.write), added.isEmpty { return known }
        guard known != nil || !added.isEmpty else { return nil }
        var candidates = try transaction.creations(of: object) + added
        if let known { candidates.append(known.write) }
        var first: WriteReference?
        for write in candidates where self.view.counts(write) {
            if try first.map({ first throws(StoreError) in
                try transaction.creation(write, of: object, precedes: first)
            }) ?? true {
                first = write
            }
        }
        guard let first, case .create(_, let type, let kind) = try transaction.edit(first) else { return nil }
        let (typeName, kindName) = (try transaction.nameIndex(of: type), try transaction.nameIndex(of: kind))
        return ObjectRecord.Creation(write: first, type: typeName, kind: kindName)
    }

    /// The circles that the user of the store had left, or never read: what had been in them did not show.
    ///
    /// On a branch those that he has left now.
    private mutating func left(in transaction: inout some StoreTransaction) throws(StoreError) -> Set<CircleIndex> {
        if let known = self.leftCircles { return known }
        var left = transaction.rights.unseen
        if !self.view.namesMissing, let user = transaction.circles.reader?.user {
            left = try transaction.circlesLeft(by: user, in: self.view).union(transaction.rights.unread)
        }
        self.leftCircles = left
        return left
    }

    /// Whether an object showed: it lived, or something below it did, in a circle that the user had not left.
    ///
    /// - Complexity: O(*n*) for *n* objects below one that did not live, which are then known.
    package mutating func isVisible(
        _ object: ObjectIndex,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Bool {
        if self.isPresent { return try transaction.look(at: object) { $0.isVisible } }
        if let known = self.visibilities[object] { return known }
        if self.visibilities.count >= Self.keptCountMax { self.visibilities.removeAll(keepingCapacity: true) }
        if try self.left(in: &transaction).contains(transaction.look(at: object, { $0.circle })) { return false }
        // What was met, each with what it stood below; that is nil for the first.
        var (waiting, met): ([ObjectIndex], [ObjectIndex: ObjectIndex?]) = ([object], [object: nil])
        while let next = waiting.popLast() {
            let known = self.visibilities[next]
            var isShown = known ?? false
            if known == nil { isShown = try self.isAlive(next, in: &transaction) }
            if isShown {
                var shown: ObjectIndex? = next
                while let above = shown {
                    self.visibilities[above] = true
                    shown = met[above] ?? nil
                }
                return true
            }
            guard known == nil else { continue }
            for child in try self.children(of: next, in: &transaction) where met[child] == nil {
                met[child] = .some(next)
                waiting.append(child)
            }
        }
        for hidden in met.keys { self.visibilities[hidden] = false }
        return false
    }

    /// The highest stamp of an operation on an object that counts.
    ///
    /// - Complexity: O(*p* log *n* + *m*) for *p* properties with *n* writes, and *m* moves, creations and deletions.
    package mutating func lastUpdate(
        of object: ObjectIndex,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Stamp {
        if self.isPresent { return try transaction.lastUpdate(of: object) }
        var writes = try transaction.moves(of: object).map(\.write)
        writes += try transaction.deletions(of: object)
        writes += try transaction.creations(of: object)
        if let creation = try transaction.look(at: object, { $0.creation }) { writes.append(creation.write) }
        for operation in try self.unmergedOperations(on: object, in: &transaction) {
            writes.append(try transaction.write(of: operation))
        }
        var last = writes.filter(self.view.counts).map(\.stamp).max() ?? .zero
        for name in try self.names(of: object, in: &transaction) {
            do throws(StoreError) {
                let write = try self.write(at: RegisterKey(object: object, name: name), in: &transaction)
                last = max(last, write?.stamp ?? .zero)
            } catch {
                guard error == .compacted, self.view.namesMissing else { throw error }
            }
        }
        return last
    }

    /// The last dropped writes to an object that the view has, of each property and segment that has any.
    package func lastRedactedWrites(
        on object: ObjectIndex,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> [SegmentPoint] {
        var ends: [SegmentPoint] = []
        for redacted in try transaction.redactedWrites(on: object) {
            if let (_, last) = try transaction.counted(redacted, in: self.view) { ends.append(last) }
        }
        return ends
    }
}
