package import CRDTCore

extension SQLiteTransaction {
    package func register(_ key: RegisterKey) throws(StoreError) -> Register? {
        if let known = self.registers.register(key) { return known }
        guard self.objects.mayHaveRegisters(key.object) else { return nil }
        let register = try self.storedRegister(key)
        try self.flushIfLarge()
        self.registers.note(register, at: key)
        return register
    }

    private func storedRegister(_ key: RegisterKey) throws(StoreError) -> Register? {
        try self.statements[.register].first(key) { row throws(StoreError) in try self.register(row) }
    }

    package func setRegister(_ register: Register, at key: RegisterKey) throws(StoreError) {
        // Not each time: to look at all that is held takes as long as to set a register.
        if self.registers.set(register, at: key).isMultiple(of: 256) { try self.flushIfLarge() }
    }

    package func addVersion(
        _ write: WriteReference,
        status: VersionStatus,
        at key: RegisterKey
    ) throws(StoreError) {
        try self.flushIfLarge()
        if status == .creation {
            // The object's row has the one that counts, and hardly ever is there another.
            guard let first = try self.look(at: key.object, { $0.creation }) else { return }
            self.versions.add(first.write, status: .creation, at: key)
        }
        self.versions.add(write, status: status, at: key)
    }

    package func setVersion(
        _ write: WriteReference,
        status: VersionStatus,
        at key: RegisterKey
    ) throws(StoreError) {
        try self.flushIfLarge()
        self.versions.set(write, status: status, at: key)
    }

    package func restampVersion(
        _ write: WriteReference,
        to stamp: Stamp,
        at key: RegisterKey
    ) throws(StoreError) {
        try self.flush()
        try self.statements[.restampVersion].run(key, write, stamp)
    }

    package func removeVersion(_ write: WriteReference, at key: RegisterKey) throws(StoreError) {
        try self.flush()
        try self.statements[.deleteVersion].run(key, write)
    }

    package func creations(of object: ObjectIndex) throws(StoreError) -> [WriteReference] {
        try self.flush()
        return try self.storedVersions(at: .last(of: object), .creation)
    }

    package func objectsWithDifferentCreations() throws(StoreError) -> [ObjectIndex] {
        try self.flush()
        return try self.statements[.objectsWithDifferentCreations].rows { $0.object(0) }
    }

    package func deletions(of object: ObjectIndex) throws(StoreError) -> [WriteReference] {
        try self.flush()
        return try self.storedVersions(at: .last(of: object), .deletion)
    }

    /// The writes of a status that the database has.
    private func storedVersions(at key: RegisterKey, _ status: VersionStatus) throws(StoreError) -> [WriteReference] {
        try self.statements[.versions].rows(key, status) { row throws(StoreError) in try self.write(row) }
    }

    package func lastWrites(
        at key: RegisterKey,
        through stamp: Stamp,
        where isWanted: (WriteReference) -> Bool
    ) throws(StoreError) -> [WriteReference] {
        try self.flush()
        // The one in force is the last of all.
        guard let winner = try self.register(key)?.winner else { return [] }
        var found: [WriteReference] = []
        if winner.stamp <= stamp, isWanted(winner) { found.append(winner) }
        let statement = try self.statements[.lastVersions]
        defer { statement.reset() }
        for range in SignedRange.upTo(stamp) {
            statement.bindAll(key, range.lowerBound, range.upperBound)
            while try statement.step() {
                let write = try self.write(statement)
                if let first = found.first, first.stamp != write.stamp { return found }
                if isWanted(write) { found.append(write) }
            }
            statement.reset()
        }
        return found
    }

    /// The last write to a property that a change makes before another one of its own; nil if it makes none.
    ///
    /// - Complexity: O(log *n*) for *n* writes to the property.
    package func writeOfSameChange(
        before write: WriteReference,
        at key: RegisterKey
    ) throws(StoreError) -> WriteReference? {
        try self.flush()
        return try self.statements[.versionOfSameChange].first(
            key,
            write.stamp,
            write.segment,
            write.sequence,
            write.index
        ) { row throws(StoreError) in try self.write(row) }
    }

    package func lastStamp(of object: ObjectIndex) throws(StoreError) -> Stamp {
        try self.flush()
        let (first, last) = (RegisterKey.first(of: object), RegisterKey.last(of: object))
        let stamps = try self.statements[.lastStampsOfObject].rows(first, last, object) { row in
            row.isNull(0) ? Stamp.zero : Stamp(rawValue: row.bits(0))
        }
        return stamps.max() ?? .zero
    }

    package func conflicts(at key: RegisterKey) throws(StoreError) -> [WriteReference] {
        try self.loadConflicts(at: key)
        return self.versions.conflicts(at: key)
    }

    /// Few conflicts are loaded once; of many, those that are asked for.
    private static let loadedConflictCountMax = 8

    package func firstConflicts(at key: RegisterKey, from segment: SegmentIndex) throws(StoreError) -> [WriteReference]
    {
        let count = try self.register(key)?.conflictCount ?? 0
        if count <= Self.loadedConflictCountMax { try self.loadConflicts(at: key) }
        let row = self.versions[key]
        let held = row?.firstConflicts(from: segment) ?? []
        if row?.hasStoredConflicts ?? false { return held }
        guard self.objects.mayHaveRegisters(key.object) else { return held }
        let (stored, passedCount) = try self.storedConflicts(at: key, from: segment, through: held.first?.segment, row)
        // Not again and again.
        if passedCount > Self.passedConflictCountMax { try self.flush() }
        guard let first = stored.first?.segment else { return held }
        return stored + held.filter { $0.segment == first }
    }

    /// So many conflicts of the database may be passed over that are none any more, before the database hears of it.
    private static let passedConflictCountMax = 64

    /// The conflicts in the database that are not among the entries of a row, on the first segment that has any.
    private func storedConflicts(
        at key: RegisterKey,
        from segment: SegmentIndex,
        through last: SegmentIndex?,
        _ row: VersionOverlay.Row?
    ) throws(StoreError) -> (writes: [WriteReference], passedCount: Int) {
        let statement = try self.statements[.conflictsFromSegment]
        defer { statement.reset() }
        statement.bindAll(key, segment)
        var (writes, passedCount): ([WriteReference], Int) = ([], 0)
        while try statement.step() {
            let write = try self.write(statement)
            if let last = writes.first?.segment ?? last, write.segment.rawValue > last.rawValue { break }
            if row?.holds(write) ?? false { passedCount += 1 } else { writes.append(write) }
        }
        return (writes, passedCount)
    }

    private func loadConflicts(at key: RegisterKey) throws(StoreError) {
        guard self.versions[key]?.hasStoredConflicts != true else { return }
        let mayHaveSome = self.objects.mayHaveRegisters(key.object)
        self.versions.note(storedConflicts: mayHaveSome ? try self.storedVersions(at: key, .conflict) : [], at: key)
    }

    package func registers(of object: ObjectIndex) throws(StoreError) -> [(NameIndex, Register)] {
        try self.flush()
        let (first, last) = (RegisterKey.first(of: object), RegisterKey.last(of: object))
        return try self.statements[.registersOfObject].rows(first, last) { row throws(StoreError) in
            (RegisterKey(rowNumber: row.int64(5)).name, try self.register(row))
        }
    }

    package func removeRegister(_ key: RegisterKey) throws(StoreError) {
        try self.flush()
        try self.statements[.deleteRegister].run(key)
        try self.statements[.deleteVersions].run(key)
    }

    package func history(of object: ObjectIndex) throws(StoreError) -> [WriteReference] {
        try self.flush()
        let (first, last) = (RegisterKey.first(of: object), RegisterKey.last(of: object))
        return try self.statements[.historyOfObject].rows(first, last, object) { row throws(StoreError) in
            try self.write(row)
        }
    }

    package func conflictedRegisters() throws(StoreError) -> [(RegisterKey, Register)] {
        try self.flush()
        return try self.statements[.conflictedRegisters].rows { row throws(StoreError) in
            (RegisterKey(rowNumber: row.int64(5)), try self.register(row))
        }
    }

    /// Writes registers in the order of their keys.
    func flushRegisters() throws(StoreError) {
        guard self.registers.count > 0 else { return }
        defer { self.registers.removeAll() }
        let changes = self.registers.changes()
        guard !changes.isEmpty else { return }
        let commit = self.commits.running
        let (single, group) = (try self.statements[.setRegister], try self.statements[.setRegisterGroup])
        var rows = RowWriter(single: single, group: group, columnCount: 8)
        var last: ObjectIndex?
        for (position, entry) in changes.enumerated() {
            guard let register = entry.register else { continue }
            let key = RegisterKey(rowNumber: entry.rowNumber)
            if key.object != last { self.objects.noteRegisters(of: key.object) }
            last = key.object
            // What the database has is listed.
            if !entry.isStored, let (name, block) = self.listedNames.note(key) { try self.listName(name, in: block) }
            let isStampOwn = try self.ownStamp(of: register.winner.point) == register.winner.stamp
            try rows.write(nextOf: changes.count - position) { row in
                row.bind(1, entry.rowNumber)
                row.bind(2, register.winner)
                // In most rows the stamp of the change says it.
                if isStampOwn { row.bindNull(2) }
                let conflictCount = Int64(register.conflictCount)
                row.bind(6, register.isRemoval ? ~conflictCount : conflictCount)
                row.bind(7, commit)
                row.bind(8, register.writeCount)
            }
        }
    }

    /// The stamp that a change itself has; nil if it is not in the log.
    private func ownStamp(of point: SegmentPoint) throws(StoreError) -> Stamp? {
        // Registers that follow each other mostly have writes of one change.
        if let recent = self.recentStamp, recent.change == point { return recent.stamp }
        var stamp = self.appendedStamps[point]
        if stamp == nil { stamp = try self.header(at: point)?.stamp }
        self.recentStamp = stamp.map { (point, $0) }
        return stamp
    }

    /// Notes that a name occurs in a block of objects, so that a program finds its properties without a look at all.
    private func listName(_ name: UInt32, in block: UInt32) throws(StoreError) {
        try self.statements[.insertNameBlock].run(name, block)
    }

    /// Writes what is not in force in the order of the registers.
    func flushVersions() throws(StoreError) {
        defer { self.versions.removeAll() }
        let changes = self.versions.changes()
        guard !changes.isEmpty else { return }
        let statement = try self.statements[.setVersion]
        for (key, entry) in changes {
            self.objects.noteRegisters(of: RegisterKey(rowNumber: key).object)
            try statement.run(key, entry.write, entry.status)
        }
    }

    /// Many more than a chain has changes that all its readers have not seen.
    static let conflictCountMax: Int64 = 1 << 31

    /// More than anybody writes; one more can be counted.
    static let writeCountMax: Int64 = 1 << 62

    func register(_ statement: Statement) throws(StoreError) -> Register {
        let isRemoval = statement.int64(4) < 0
        let conflictCount = isRemoval ? ~statement.int64(4) : statement.int64(4)
        guard conflictCount <= SQLiteTransaction.conflictCountMax else {
            throw .damaged("a property in the database has more conflicts than there can be")
        }
        guard (1...SQLiteTransaction.writeCountMax).contains(statement.int64(6)) else {
            throw .damaged("a property in the database has more writes than there can be, or none")
        }
        var winner = try self.write(statement)
        if statement.isNull(0) {
            guard let stamp = try self.ownStamp(of: winner.point) else {
                throw .damaged("the write of a property is missing from the log")
            }
            winner.stamp = stamp
        }
        return Register(
            winner: winner,
            isRemoval: isRemoval,
            conflictCount: UInt32(conflictCount),
            writeCount: statement.int64(6)
        )
    }

    /// The write in four columns: stamp, segment, sequence, index.
    func write(_ statement: Statement, at column: Int32 = 0) throws(StoreError) -> WriteReference {
        let point = try self.point(statement, at: column + 1)
        guard let index = UInt32(exactly: statement.int64(column + 3)) else {
            throw .damaged("a row of the database names a write that cannot be")
        }
        let stamp = Stamp(rawValue: statement.bits(column))
        return WriteReference(stamp: stamp, segment: point.segment, sequence: point.sequence, index: index)
    }
}
