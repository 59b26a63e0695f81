package import CRDTCore

extension SQLiteTransaction {
    package var lineCount: Int { self.lines.records.count }

    package func line(_ index: LineIndex) -> LineRecord { self.lines[index] }

    package func replicaID(_ index: LineIndex) -> ReplicaID { self.lines.replica(index) }

    package func origin(of index: LineIndex) -> LineOrigin? { self.lines.origin(index) }

    package func progress(of index: LineIndex) -> LineProgress { self.lines.progress(of: index) }

    package func storedHash(of index: LineIndex) -> Hash256 { self.lines.storedHash(of: index) }

    package var knownFrontier: Frontier? {
        get { self.lines.frontier }
        set { self.lines.frontier = newValue }
    }

    package func firstLine(of id: ReplicaID) -> LineIndex? { self.lines.first(of: id) }

    package func setLine(_ record: consuming LineRecord, at index: LineIndex) throws(StoreError) {
        self.lines.set(record, at: index)
    }

    package func addLine(_ record: consuming LineRecord) throws(StoreError) -> LineIndex {
        self.lines.append(record)
    }

    // MARK: - Rows

    /// Reads all lines and restamps.
    func loadLines() throws(StoreError) {
        let statement = try self.statements[.allLines]
        defer { statement.reset() }
        while try statement.step() {
            guard statement.int64(0) == Int64(self.lineCount) else {
                throw .damaged("the lines in the database are not numbered without gaps")
            }
            self.lines.restore(try self.lineRecord(statement))
        }
        self.hasContexts = false
        try self.loadRestamps()
        try self.loadBranches()
    }

    /// Puts together what each line has seen, those first that others hang on, if that has not been done.
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
        var inheritances: [LinePoint: SeenLines] = [:]
        for position in 0..<self.lineCount {
            let index = LineIndex(rawValue: UInt32(position))
            guard self.progress(of: index).hasApplied else { continue }
            var trail = self.line(index).trail
            guard trail.recent.endOfLines <= self.lineCount else {
                throw .damaged("a line in the database has seen more lines than there are")
            }
            if let parent = self.origin(of: index)?.parent, parent.sequence > 0 {
                guard self.progress(of: parent.line).appliedSequence >= parent.sequence else {
                    throw .damaged("a line in the database is applied before the one that it hangs on")
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
            self.lines.restore(context, inherited: trail.inherited, at: index)
        }
    }

    private func lineRecord(_ statement: Statement) throws(StoreError) -> LineRecord {
        let id = ReplicaID(bytes: try statement.bytes16(1))
        let storedHash = try statement.hash(8)
        var record = LineRecord(id: id, origin: storedHash)
        if let origin = try self.origin(statement, of: id) {
            record = LineRecord(id: id, introduction: nil, branch: nil, origin: origin, previous: storedHash)
        }
        record.storedSequence = statement.bits(7)
        record.appliedSequence = statement.bits(9)
        record.appliedStamp = Stamp(rawValue: statement.bits(10))
        record.trail.recent = try self.seenLines(statement, at: 11)
        record.trail.recentPointCount = record.trail.recent.all.count
        record.trail.checkpointSequence = statement.bits(13)
        guard let number = UInt32(exactly: statement.int64(14)), number < .max / 2,
            number > 0 ? record.trail.checkpointSequence > 0 : record.trail.checkpointSequence == 0,
            record.trail.checkpointSequence <= record.appliedSequence
        else { throw .damaged("a line in the database counts checkpoints that cannot be") }
        record.trail.checkpointNumber = number
        record.firstRaised = statement.isNull(12) ? nil : statement.bits(12)
        record.branch = statement.isNull(15) ? nil : BranchID(bytes: try statement.bytes16(15))
        record.mergedSequence = statement.bits(16)
        if !statement.isNull(2) {
            do throws(WireError) {
                record.introduction = try Introduction(decoding: statement.bytes(2)[...])
            } catch {
                throw .damaged("an introduction in the database cannot be read")
            }
        }
        guard record.storedSequence <= Limits.sequenceMax, record.appliedSequence <= record.storedSequence,
            record.appliedSequence >= record.firstSequence - 1,
            record.mergedSequence <= record.appliedSequence || record.branch == nil
        else { throw .damaged("a line in the database counts changes that cannot be") }
        return record
    }

    /// Where a line hangs whose row comes after those of all lines with lower numbers.
    ///
    /// Nil for the first of its replica.
    private func origin(_ statement: Statement, of id: ReplicaID) throws(StoreError) -> LineOrigin? {
        guard let first = self.firstLine(of: id) else {
            guard statement.isNull(3) else { throw .damaged("a line in the database hangs on none of its replica") }
            return nil
        }
        guard !statement.isNull(3), let number = UInt32(exactly: statement.int64(3)), number < self.lineCount else {
            throw .damaged("a line in the database hangs on none before it")
        }
        let parent = LinePoint(line: LineIndex(rawValue: number), sequence: statement.bits(4))
        let progress = self.progress(of: parent.line)
        let isInLine = parent.sequence >= progress.firstSequence && parent.sequence <= progress.storedSequence
        guard self.replicaID(parent.line) == id, isInLine || parent == LinePoint(line: first, sequence: 0) else {
            throw .damaged("a line in the database hangs on a change that is not stored")
        }
        return LineOrigin(parent: parent, firstHash: try statement.hash(5), siblingHash: try statement.hash(6))
    }

    /// How far each line was seen, as some columns hold it.
    private func seenLines(_ statement: Statement, at column: Int32) throws(StoreError) -> SeenLines {
        guard let seen = try? StoredBytes.seenLines(statement.bytes(column)) else {
            throw .damaged("a context in the database cannot be read")
        }
        return seen
    }

    /// Writes the lines that have changed.
    func writeLines() throws(StoreError) {
        for change in self.lines.changes() {
            let record = change.record
            let statement = try self.statements[change.original == nil ? .insertLine : .updateLine]
            statement.bind(1, change.index)
            statement.bind(2, bits: record.storedSequence)
            statement.bind(3, record.storedHash.bytes.array)
            statement.bind(4, bits: record.appliedSequence)
            statement.bind(5, bits: record.appliedStamp.rawValue)
            statement.bind(6, StoredBytes.encode(record.trail.recent))
            statement.bind(7, record.firstRaised.map { Int64(bitPattern: $0) })
            statement.bind(8, bits: record.trail.checkpointSequence)
            statement.bind(9, Int64(record.trail.checkpointNumber))
            statement.bind(10, record.branch?.bytes.array)
            statement.bind(11, bits: record.mergedSequence)
            if change.original == nil {
                statement.bind(12, record.id.bytes)
                statement.bind(13, record.origin.map { Int64($0.parent.line.rawValue) })
                statement.bind(14, record.origin.map { Int64(bitPattern: $0.parent.sequence) })
                statement.bind(15, record.origin?.firstHash.bytes.array)
                statement.bind(16, record.origin?.siblingHash.bytes.array)
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
        let statement = try self.statements[.updateLineIntroduction]
        statement.bind(1, index)
        statement.bind(2, introduction.user.bytes.array)
        statement.bind(3, introduction.device?.bytes.array)
        statement.bind(4, introduction.deviceName)
        statement.bind(5, bytes)
        try statement.run()
    }

    // MARK: - Restamps

    package var restamps: RestampTable { self.lines.restamps }

    package func addRestamp(_ record: RestampRecord) throws(StoreError) {
        let statement = try self.statements[.insertRestamp]
        statement.bind(1, record.author.rawValue)
        statement.bind(2, record.restamp.replica.bytes)
        statement.bind(3, bits: record.restamp.firstSequence)
        statement.bind(4, bits: record.restamp.lastSequence)
        statement.bind(5, record.restamp.lastHash.bytes.array)
        try statement.run()
        self.lines.add(record)
    }

    package func settleRestamp(_ record: RestampRecord) throws(StoreError) {
        guard let place = self.lines.settle(record) else { return }
        let statement = try self.statements[.settleRestamp]
        // Rows are numbered from one on, and none is ever taken out.
        statement.bind(1, Int64(place) + 1)
        try statement.run()
    }

    package func restampedChain(of replica: ReplicaID) -> RestampedChain? { self.lines.restampedChain(of: replica) }

    package func setRestampedChain(_ chain: RestampedChain?, of replica: ReplicaID) {
        self.lines.setRestampedChain(chain, of: replica)
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
            guard let author = UInt32(exactly: statement.int64(0)), author < self.lineCount,
                restamp.firstSequence >= 1, restamp.firstSequence <= restamp.lastSequence,
                restamp.lastSequence <= Limits.sequenceMax
            else { throw .damaged("a restamp in the database cannot be") }
            let record = RestampRecord(restamp: restamp, author: LineIndex(rawValue: author))
            guard !self.restamps.contains(record), statement.int64(6) == self.restamps.count + 1 else {
                throw .damaged("the restamps in the database are not numbered without gaps")
            }
            self.lines.restore(record, isSettled: statement.bool(5))
        }
    }

    // MARK: - Raised stamps

    package func raisedStamp(at point: LinePoint) throws(StoreError) -> RaisedStamp? {
        let statement = try self.statements[.raisedStamp]
        defer { statement.reset() }
        statement.bind(point)
        guard try statement.step() else { return nil }
        let cause = statement.isNull(1) ? nil : try self.point(statement, at: 1)
        return RaisedStamp(stamp: Stamp(rawValue: statement.bits(0)), cause: cause)
    }

    package func setRaisedStamp(_ stamp: RaisedStamp?, at point: LinePoint) throws(StoreError) {
        let statement = try self.statements[stamp == nil ? .deleteRaisedStamp : .setRaisedStamp]
        statement.bind(point)
        if let stamp {
            statement.bind(3, bits: stamp.stamp.rawValue)
            statement.bind(4, stamp.cause.map { Int64($0.line.rawValue) })
            statement.bind(5, stamp.cause.map { Int64(bitPattern: $0.sequence) })
        }
        try statement.run()
    }

    package func raisedStamps(causedBy point: LinePoint) throws(StoreError) -> [LinePoint] {
        let statement = try self.statements[.raisedStampsByCause]
        defer { statement.reset() }
        statement.bind(point)
        var points: [LinePoint] = []
        while try statement.step() { points.append(try self.point(statement, at: 0)) }
        return points
    }

    /// The change in two columns: line and sequence.
    func point(_ statement: Statement, at column: Int32) throws(StoreError) -> LinePoint {
        guard let line = UInt32(exactly: statement.int64(column)), line < self.lineCount,
            (1...Limits.sequenceMax).contains(statement.bits(column + 1))
        else { throw .damaged("a row of the database names a change that cannot be") }
        return LinePoint(line: LineIndex(rawValue: line), sequence: statement.bits(column + 1))
    }

    // MARK: - Checkpoints

    package func setCheckpoint(_ checkpoint: Checkpoint, at place: LinePoint) throws(StoreError) {
        let statement = try self.statements[.setCheckpoint]
        statement.bind(place)
        statement.bind(3, Int64(checkpoint.number))
        statement.bind(4, bits: checkpoint.base)
        statement.bind(5, StoredBytes.encode(checkpoint.additions))
        try statement.run()
    }

    package func checkpoint(
        of line: LineIndex,
        upTo sequence: UInt64
    ) throws(StoreError) -> (sequence: UInt64, checkpoint: Checkpoint)? {
        let statement = try self.statements[.checkpoint]
        defer { statement.reset() }
        statement.bind(LinePoint(line: line, sequence: sequence))
        return try statement.step() ? try self.checkpoint(statement, upTo: sequence) : nil
    }

    package func checkpoints(
        of line: LineIndex
    ) throws(StoreError) -> [(sequence: UInt64, checkpoint: Checkpoint)] {
        let statement = try self.statements[.checkpointsOfLine]
        defer { statement.reset() }
        statement.bind(1, Int64(line.rawValue))
        var found: [(sequence: UInt64, checkpoint: Checkpoint)] = []
        while try statement.step() { found.append(try self.checkpoint(statement, upTo: Limits.sequenceMax)) }
        return found
    }

    private func checkpoint(
        _ statement: Statement,
        upTo last: UInt64
    ) throws(StoreError) -> (sequence: UInt64, checkpoint: Checkpoint) {
        let (sequence, base) = (statement.bits(0), statement.bits(2))
        let additions = try self.seenLines(statement, at: 3)
        guard let number = UInt32(exactly: statement.int64(1)), number < .max / 2, base < sequence, sequence <= last,
            additions.endOfLines <= self.lineCount
        else { throw .damaged("a context in the database is not where it can be") }
        return (sequence, Checkpoint(number: number, base: base, additions: additions))
    }

    package func removeCheckpoints(of line: LineIndex, after sequence: UInt64) throws(StoreError) {
        let statement = try self.statements[.removeCheckpoints]
        statement.bind(LinePoint(line: line, sequence: sequence))
        try statement.run()
        self.lines.keptContexts[line] = nil
    }

    package func keptContexts(of line: LineIndex) -> [KeptContext]? { self.lines.keptContexts[line] }

    package func setKeptContexts(_ contexts: [KeptContext]?, of line: LineIndex) {
        self.lines.keptContexts[line] = contexts
    }
}
