/// What the author of an operation had seen: a sequence for each line, and its own line up to the operation.
package struct CausalContext: Sendable {
    package var sequences: [UInt64]
    package var author: LineIndex
    package var ordinal: ChainOrdinal

    package init(sequences: [UInt64], author: LineIndex, ordinal: ChainOrdinal) {
        self.sequences = sequences
        self.author = author
        self.ordinal = ordinal
    }

    /// How far a line was seen: everything below the result was.
    package func end(of line: LineIndex) -> ChainOrdinal {
        if line == self.author { return self.ordinal }
        let position = Int(line.rawValue)
        guard position < self.sequences.count, self.sequences[position] > 0 else { return .zero }
        return .end(ofSequence: self.sequences[position])
    }

    /// Whether the author had seen a write.
    package func covers(_ write: WriteReference) -> Bool { self.covers(write.line, write.ordinal) }

    package func covers(_ line: LineIndex, _ ordinal: ChainOrdinal) -> Bool {
        #if PLANTED_BUGS
        if PlantedBug.conflictForgotten.isPlanted { return true }
        #endif
        return ordinal < self.end(of: line)
    }
}

extension StoreTransaction {
    /// The stored changes of a replica with a sequence, one for each branch there.
    ///
    /// Sequence 0 is the beginning of the chain.
    package func places(of id: ReplicaID, sequence: UInt64) -> [LinePoint] {
        var places: [LinePoint] = []
        var next = self.firstLine(of: id)
        if sequence == 0 { return next.map { [LinePoint(line: $0, sequence: 0)] } ?? [] }
        while let line = next {
            let progress = self.progress(of: line)
            if sequence >= progress.firstSequence, sequence <= progress.storedSequence {
                places.append(LinePoint(line: line, sequence: sequence))
            }
            next = progress.next
        }
        return places
    }

    /// Where a change is stored that a full hash names; nil if it is not.
    package mutating func place(of id: ReplicaID, sequence: UInt64, hash: Hash256) throws(StoreError) -> LinePoint? {
        for place in self.places(of: id, sequence: sequence) where sequence > 0 {
            if try self.hash(at: place) == hash { return place }
        }
        return nil
    }

    /// What a point means here: the change that it names, or, if two have that name, their last common predecessor.
    ///
    /// Nil if no such change is stored. Sequence 0 of the result is the beginning of the chain.
    package mutating func place(of point: Point) throws(StoreError) -> LinePoint? {
        var found: LinePoint?
        for place in self.places(of: point.replica, sequence: point.sequence) {
            guard let hash = try self.hash(at: place), ChangeName(hash) == point.name else { continue }
            #if PLANTED_BUGS
            if PlantedBug.sameNameTakenForFirst.isPlanted, found != nil { continue }
            #endif
            found = found.map { self.commonPlace($0, place) } ?? place
        }
        return found
    }

    /// The last change that two changes of one chain both extend, or are.
    package func commonPlace(_ left: LinePoint, _ right: LinePoint) -> LinePoint {
        var (left, right) = (left, right)
        while left.line != right.line {
            // A line hangs on one with a lower number, since that was there before.
            if left.line.rawValue > right.line.rawValue {
                guard let parent = self.origin(of: left.line)?.parent else { break }
                left = parent
            } else {
                guard let parent = self.origin(of: right.line)?.parent else { break }
                right = parent
            }
        }
        return LinePoint(line: left.line, sequence: min(left.sequence, right.sequence))
    }

    /// Whether a change is another one or comes before it in its chain.
    package func isWithin(_ place: LinePoint, _ last: LinePoint) -> Bool { self.commonPlace(place, last) == place }

    /// Takes a change and all before it in its chain into a context.
    package func cover(_ place: LinePoint, in context: inout [UInt64]) {
        var next: LinePoint? = place
        while let place = next {
            let position = Int(place.line.rawValue)
            while position >= context.count { context.append(0) }
            guard context[position] < place.sequence else { return }
            context[position] = place.sequence
            next = self.origin(of: place.line)?.parent
        }
    }

    /// What the author of a change had seen, without the change's own line.
    ///
    /// - Complexity: O(*b*) for the changes since the last checkpoint, at most `Limits.checkpointInterval`.
    package mutating func context(at place: LinePoint) throws(StoreError) -> [UInt64] {
        let record = self.line(place.line)
        if record.appliedSequence == place.sequence, place.sequence >= record.firstSequence { return record.context }
        var start = record.firstSequence - 1
        var context: [UInt64] = []
        if let kept = try self.checkpoint(of: place.line, upTo: place.sequence) {
            (start, context) = (kept.sequence, kept.context)
        } else if let parent = record.origin?.parent {
            context = try self.context(at: parent)
            self.cover(parent, in: &context)
        }
        for point in try self.contexts(of: place.line, after: start, through: place.sequence) {
            if let seen = try self.place(of: point) { self.cover(seen, in: &context) }
        }
        return context
    }

    /// The effective stamp of a change that has been applied.
    package mutating func effectiveStamp(at place: LinePoint) throws(StoreError) -> Stamp {
        let record = self.line(place.line)
        if place.sequence < record.firstSequence {
            guard let parent = record.origin?.parent, parent.sequence > 0 else { return .zero }
            return try self.effectiveStamp(at: parent)
        }
        if record.appliedSequence == place.sequence { return record.appliedStamp }
        if let first = record.firstRaised, first <= place.sequence, let raised = try self.raisedStamp(at: place) {
            return raised.stamp
        }
        guard let header = try self.header(at: place) else { throw .damaged("a change is missing from the log") }
        return header.stamp
    }
}
