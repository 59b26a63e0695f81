package import CRDTCore

extension SQLiteTransaction {
    package var segmentCount: Int { self.segments.records.count }

    package func segment(_ index: SegmentIndex) -> SegmentRecord { self.segments[index] }

    package func replicaID(_ index: SegmentIndex) -> ReplicaID { self.segments.replica(index) }

    package func origin(of index: SegmentIndex) -> SegmentOrigin? { self.segments.origin(index) }

    package func progress(of index: SegmentIndex) -> SegmentProgress { self.segments.progress(of: index) }

    package func storedHash(of index: SegmentIndex) -> Hash256 { self.segments.storedHash(of: index) }

    package var knownFrontier: Frontier? {
        get { self.segments.frontier }
        set { self.segments.frontier = newValue }
    }

    package func firstSegment(of id: ReplicaID) -> SegmentIndex? { self.segments.first(of: id) }

    package func setSegment(_ record: consuming SegmentRecord, at index: SegmentIndex) throws(StoreError) {
        self.segments.set(record, at: index)
    }

    package func addSegment(_ record: consuming SegmentRecord) throws(StoreError) -> SegmentIndex {
        self.segments.append(record)
    }

    package var circles: CircleTable { self.segments.circles }

    // MARK: - Rows

    /// Reads all segments and restamps.
    func loadSegments() throws(StoreError) {
        let statement = try self.statements[.allSegments]
        defer { statement.reset() }
        while try statement.step() {
            guard statement.int64(0) == Int64(self.segmentCount) else {
                throw .damaged("the segments in the database are not numbered without gaps")
            }
            self.segments.restore(try self.segmentRecord(statement))
        }
        self.hasContexts = false
        try self.loadReader()
        try self.loadRestamps()
        try self.loadBranches()
        try self.loadRights()
    }

    /// Puts together what each segment has seen, those first that others hang on, if that has not been done.
    ///
    /// Whoever only reads the state has no need of it.
    package func prepareContexts() throws(StoreError) {
        guard !self.hasContexts else { return }
        self.hasContexts = true
        do throws(StoreError) {
            try self.loadContexts()
        } catch {
            self.hasContexts = false
            throw error
        }
    }

    private func loadContexts() throws(StoreError) {
        var store = self
        // Many forks may leave at one place.
        var inheritances: [SegmentPoint: SeenSegments] = [:]
        for index in self.segmentIndices {
            guard self.progress(of: index).hasApplied else { continue }
            var trail = self.segment(index).trail
            guard trail.recent.endOfLines <= self.segmentCount else {
                throw .damaged("a segment in the database has seen more segments than there are")
            }
            if let parent = self.origin(of: index)?.parent, parent.sequence > 0 {
                guard self.progress(of: parent.segment).appliedSequence >= parent.sequence else {
                    throw .damaged("a segment in the database is applied before the one that it hangs on")
                }
                if let known = inheritances[parent] {
                    trail.inherited = known
                } else {
                    trail.inherited = try store.context(at: parent)
                    self.cover(parent, in: &trail.inherited)
                    inheritances[parent] = trail.inherited
                }
            }
            let context = try store.context(of: trail, on: index)
            self.segments.restore(context, inherited: trail.inherited, at: index)
        }
    }

    private func segmentRecord(_ statement: Statement) throws(StoreError) -> SegmentRecord {
        let id = ReplicaID(bytes: try statement.bytes16(1))
        let storedHash = try statement.hash(8)
        var record = SegmentRecord(id: id, origin: storedHash)
        if let origin = try self.origin(statement, of: id) {
            record = SegmentRecord(id: id, introduction: nil, origin: origin, previous: storedHash)
        }
        record.storedSequence = statement.bits(7)
        record.appliedSequence = statement.bits(9)
        record.appliedStamp = Stamp(rawValue: statement.bits(10))
        record.trail.recent = try self.seenSegments(statement, at: 11)
        record.trail.recentPointCount = record.trail.recent.all.count
        record.trail.checkpointSequence = statement.bits(13)
        guard let number = UInt32(exactly: statement.int64(14)), number < .max / 2,
            number > 0 ? record.trail.checkpointSequence > 0 : record.trail.checkpointSequence == 0,
            record.trail.checkpointSequence <= record.appliedSequence
        else { throw .damaged("a segment in the database counts checkpoints that cannot be") }
        record.trail.checkpointNumber = number
        record.firstRaised = statement.isNull(12) ? nil : statement.bits(12)
        record.mergedSequence = statement.bits(15)
        record.closedSequence = statement.bits(16)
        if !statement.isNull(2) {
            do throws(WireError) {
                record.introduction = try Introduction(decoding: statement.bytes(2)[...])
            } catch {
                throw .damaged("an introduction in the database cannot be read")
            }
        }
        guard record.storedSequence <= Limits.sequenceMax, record.appliedSequence <= record.storedSequence,
            record.appliedSequence >= record.firstSequence - 1,
            record.mergedSequence <= record.appliedSequence || record.branch == nil,
            record.closedSequence <= record.appliedSequence
        else { throw .damaged("a segment in the database counts changes that cannot be") }
        return record
    }

    /// Where a segment hangs whose row comes after those of all segments with lower numbers.
    ///
    /// Nil for the first of its replica.
    private func origin(_ statement: Statement, of id: ReplicaID) throws(StoreError) -> SegmentOrigin? {
        guard let first = self.firstSegment(of: id) else {
            guard statement.isNull(3) else { throw .damaged("a segment in the database hangs on none of its replica") }
            return nil
        }
        guard !statement.isNull(3), let number = UInt32(exactly: statement.int64(3)), number < self.segmentCount else {
            throw .damaged("a segment in the database hangs on none before it")
        }
        let parent = SegmentPoint(segment: SegmentIndex(rawValue: number), sequence: statement.bits(4))
        let progress = self.progress(of: parent.segment)
        let isInSegment = parent.sequence >= progress.firstSequence && parent.sequence <= progress.storedSequence
        guard self.replicaID(parent.segment) == id, isInSegment || parent == SegmentPoint(segment: first, sequence: 0)
        else {
            throw .damaged("a segment in the database hangs on a change that is not stored")
        }
        return SegmentOrigin(parent: parent, firstHash: try statement.hash(5), siblingHash: try statement.hash(6))
    }

    /// How far each segment was seen, as some columns hold it.
    private func seenSegments(_ statement: Statement, at column: Int32) throws(StoreError) -> SeenSegments {
        guard let seen = try? StoredBytes.seenSegments(statement.bytes(column)) else {
            throw .damaged("a context in the database cannot be read")
        }
        return seen
    }

    /// Writes the segments that have changed.
    func writeSegments() throws(StoreError) {
        for change in self.segments.changes() {
            let record = change.record
            let statement = try self.statements[change.original == nil ? .insertSegment : .updateSegment]
            statement.bind(1, change.index)
            statement.bind(2, record.storedSequence)
            statement.bind(3, record.storedHash.bytes)
            statement.bind(4, record.appliedSequence)
            statement.bind(5, record.appliedStamp)
            statement.bind(6, StoredBytes.encode(record.trail.recent))
            statement.bind(7, record.firstRaised)
            statement.bind(8, record.trail.checkpointSequence)
            statement.bind(9, record.trail.checkpointNumber)
            statement.bind(10, record.branch?.bytes)
            statement.bind(11, record.mergedSequence)
            statement.bind(12, record.closedSequence)
            if change.original == nil {
                statement.bind(13, record.id.bytes)
                statement.bind(14, record.origin?.parent)
                statement.bind(16, record.origin?.firstHash.bytes)
                statement.bind(17, record.origin?.siblingHash.bytes)
            }
            try statement.run()
            if record.introduction != change.original?.introduction, let introduction = record.introduction {
                try self.write(introduction, at: change.index)
            }
        }
    }

    private func write(_ introduction: Introduction, at index: Int64) throws(StoreError) {
        var bytes: [UInt8] = []
        introduction.encode(to: &bytes)
        let (user, device) = (introduction.user.bytes, introduction.device?.bytes)
        try self.statements[.updateSegmentIntroduction].run(index, user, device, introduction.deviceName, bytes)
    }

    // MARK: - Restamps

    package var restamps: RestampTable { self.segments.restamps }

    package func addRestamp(_ record: RestampRecord) throws(StoreError) {
        let restamp = record.restamp
        try self.statements[.insertRestamp].run(
            record.author,
            restamp.replica.bytes,
            restamp.firstSequence,
            restamp.lastSequence,
            restamp.lastHash.bytes,
            record.stamp
        )
        self.segments.add(record)
    }

    package func settleRestamp(_ record: RestampRecord) throws(StoreError) {
        guard let place = self.segments.settle(record) else { return }
        // Rows are numbered from one on, and none is ever taken out.
        try self.statements[.settleRestamp].run(place + 1)
    }

    package func restampedChain(of replica: ReplicaID) -> RestampedChain? { self.segments.restampedChain(of: replica) }

    package func setRestampedChain(_ chain: RestampedChain?, of replica: ReplicaID) {
        self.segments.setRestampedChain(chain, of: replica)
    }

    private func loadRestamps() throws(StoreError) {
        let statement = try self.statements[.allRestamps]
        defer { statement.reset() }
        while try statement.step() {
            let restamp = Restamp(
                replica: ReplicaID(bytes: try statement.bytes16(1)),
                firstSequence: statement.bits(2),
                lastSequence: statement.bits(3),
                lastHash: try statement.hash(4)
            )
            guard let author = UInt32(exactly: statement.int64(0)), author < self.segmentCount,
                restamp.firstSequence >= 1, restamp.firstSequence <= restamp.lastSequence,
                restamp.lastSequence <= Limits.sequenceMax
            else { throw .damaged("a restamp in the database cannot be") }
            let stamp = Stamp(rawValue: statement.bits(7))
            let record = RestampRecord(restamp: restamp, at: stamp, author: SegmentIndex(rawValue: author))
            guard !self.restamps.contains(record), statement.int64(6) == self.restamps.count + 1 else {
                throw .damaged("the restamps in the database are not numbered without gaps")
            }
            self.segments.restore(record, isSettled: statement.bool(5))
        }
    }

    // MARK: - Raised stamps

    package func raisedStamp(at point: SegmentPoint) throws(StoreError) -> RaisedStamp? {
        try self.statements[.raisedStamp].first(point) { row throws(StoreError) in
            let cause = row.isNull(1) ? nil : try self.point(row, at: 1)
            return RaisedStamp(stamp: Stamp(rawValue: row.bits(0)), cause: cause)
        }
    }

    package func setRaisedStamp(_ stamp: RaisedStamp?, at point: SegmentPoint) throws(StoreError) {
        guard let stamp else { return try self.statements[.deleteRaisedStamp].run(point) }
        try self.statements[.setRaisedStamp].run(point, stamp.stamp, stamp.cause)
    }

    package func raisedStamps(causedBy point: SegmentPoint) throws(StoreError) -> [SegmentPoint] {
        try self.statements[.raisedStampsByCause].rows(point) { row throws(StoreError) in try self.point(row, at: 0) }
    }

    /// The change in two columns: segment and sequence.
    func point(_ statement: Statement, at column: Int32) throws(StoreError) -> SegmentPoint {
        guard let segment = UInt32(exactly: statement.int64(column)), segment < self.segmentCount,
            (1...Limits.sequenceMax).contains(statement.bits(column + 1))
        else { throw .damaged("a row of the database names a change that cannot be") }
        return SegmentPoint(segment: SegmentIndex(rawValue: segment), sequence: statement.bits(column + 1))
    }

    // MARK: - Checkpoints

    package func setCheckpoint(_ checkpoint: Checkpoint, at place: SegmentPoint) throws(StoreError) {
        let additions = StoredBytes.encode(checkpoint.additions)
        try self.statements[.setCheckpoint].run(place, checkpoint.number, checkpoint.base, additions)
    }

    package func checkpoint(
        of segment: SegmentIndex,
        upTo sequence: UInt64
    ) throws(StoreError) -> (sequence: UInt64, checkpoint: Checkpoint)? {
        try self.statements[.checkpoint].first(segment, sequence) { row throws(StoreError) in
            try self.checkpoint(row, upTo: sequence)
        }
    }

    package func checkpoints(
        of segment: SegmentIndex
    ) throws(StoreError) -> [(sequence: UInt64, checkpoint: Checkpoint)] {
        try self.statements[.checkpointsOfSegment].rows(segment) { row throws(StoreError) in
            try self.checkpoint(row, upTo: Limits.sequenceMax)
        }
    }

    private func checkpoint(
        _ statement: Statement,
        upTo last: UInt64
    ) throws(StoreError) -> (sequence: UInt64, checkpoint: Checkpoint) {
        let (sequence, base) = (statement.bits(0), statement.bits(2))
        let additions = try self.seenSegments(statement, at: 3)
        guard let number = UInt32(exactly: statement.int64(1)), number < .max / 2, base < sequence, sequence <= last,
            additions.endOfLines <= self.segmentCount
        else { throw .damaged("a context in the database is not where it can be") }
        return (sequence, Checkpoint(number: number, base: base, additions: additions))
    }

    package func removeCheckpoints(of segment: SegmentIndex, after sequence: UInt64) throws(StoreError) {
        try self.statements[.removeCheckpoints].run(segment, sequence)
        self.segments.keptContexts[segment] = nil
    }

    package func keptContexts(of segment: SegmentIndex) -> [KeptContext]? { self.segments.keptContexts[segment] }

    package func setKeptContexts(_ contexts: [KeptContext]?, of segment: SegmentIndex) {
        self.segments.keptContexts[segment] = contexts
    }
}
