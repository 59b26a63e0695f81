package import CRDTCore

extension SQLiteTransaction {
    package func register(_ key: RegisterKey) throws(StoreError) -> Register? {
        if let known = self.registers.register(key) { return known }
        // An object that the database does not hold has no registers there.
        guard !self.objects.isNew(key.object) else { return nil }
        let register = try self.storedRegister(key)
        try self.flushIfLarge()
        self.registers.note(register, at: key)
        return register
    }

    private func storedRegister(_ key: RegisterKey) throws(StoreError) -> Register? {
        let statement = try self.statements[.register]
        defer { statement.reset() }
        statement.bind(1, key.rowNumber)
        return try statement.step() ? try self.register(statement) : nil
    }

    package func setRegister(_ register: Register, at key: RegisterKey) throws(StoreError) {
        try self.flushIfLarge()
        self.registers.set(register, at: key)
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
        let statement = try self.statements[.restampVersion]
        statement.bind(1, key.rowNumber)
        Self.bind(write, to: statement, at: 2)
        statement.bind(6, bits: stamp.rawValue)
        try statement.run()
    }

    package func removeVersion(_ write: WriteReference, at key: RegisterKey) throws(StoreError) {
        try self.flush()
        let statement = try self.statements[.deleteVersion]
        statement.bind(1, key.rowNumber)
        Self.bind(write, to: statement, at: 2)
        try statement.run()
    }

    package func creations(of object: ObjectIndex) throws(StoreError) -> [WriteReference] {
        try self.flush()
        let statement = try self.statements[.creationsOfObject]
        defer { statement.reset() }
        statement.bind(1, RegisterKey(object: object, name: .lifetime).rowNumber)
        var writes: [WriteReference] = []
        while try statement.step() { writes.append(try self.write(statement)) }
        return writes
    }

    package func objectsWithDifferentCreations() throws(StoreError) -> [ObjectIndex] {
        try self.flush()
        return try SQLiteTransaction.indexes(try self.statements[.objectsWithDifferentCreations])
    }

    package func deletions(of object: ObjectIndex) throws(StoreError) -> [WriteReference] {
        try self.flush()
        let statement = try self.statements[.deletionsOfObject]
        defer { statement.reset() }
        statement.bind(1, RegisterKey(object: object, name: .lifetime).rowNumber)
        var writes: [WriteReference] = []
        while try statement.step() { writes.append(try self.write(statement)) }
        return writes
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
            statement.bind(1, key.rowNumber)
            statement.bind(2, range.lowerBound)
            statement.bind(3, range.upperBound)
            while try statement.step() {
                let write = try self.write(statement)
                if let first = found.first, first.stamp != write.stamp { return found }
                if isWanted(write) { found.append(write) }
            }
            statement.reset()
        }
        return found
    }

    package func lastStamp(of object: ObjectIndex) throws(StoreError) -> Stamp {
        try self.flush()
        let statement = try self.statements[.lastStampsOfObject]
        defer { statement.reset() }
        statement.bind(1, RegisterKey(object: object, name: NameIndex(rawValue: 0)).rowNumber)
        statement.bind(2, RegisterKey(object: object, name: NameIndex(rawValue: .max)).rowNumber)
        statement.bind(3, RegisterKey(object: object, name: .lifetime).rowNumber)
        statement.bind(4, object.rawValue)
        var last = Stamp.zero
        while try statement.step() {
            if !statement.isNull(0) { last = max(last, Stamp(rawValue: statement.bits(0))) }
        }
        return last
    }

    package func conflicts(at key: RegisterKey) throws(StoreError) -> [WriteReference] {
        try self.loadConflicts(at: key)
        return self.versions.conflicts(at: key)
    }

    /// Few conflicts are loaded once; of many, those that are asked for.
    private static let loadedConflictCountMax = 8

    package func firstConflicts(at key: RegisterKey, from line: LineIndex) throws(StoreError) -> [WriteReference] {
        let count = try self.register(key)?.conflictCount ?? 0
        if count <= Self.loadedConflictCountMax { try self.loadConflicts(at: key) }
        let row = self.versions[key]
        let held = row?.firstConflicts(from: line) ?? []
        if row?.hasStoredConflicts ?? false { return held }
        guard !self.objects.isNew(key.object) else { return held }
        let (stored, passedCount) = try self.storedConflicts(at: key, from: line, through: held.first?.line, row)
        // Not again and again.
        if passedCount > Self.passedConflictCountMax { try self.flush() }
        guard let first = stored.first?.line else { return held }
        return stored + held.filter { $0.line == first }
    }

    /// So many conflicts of the database may be passed over that are none any more, before the database hears of it.
    private static let passedConflictCountMax = 64

    /// The conflicts in the database that are not among the entries of a row, on the first line that has any.
    private func storedConflicts(
        at key: RegisterKey,
        from line: LineIndex,
        through last: LineIndex?,
        _ row: VersionOverlay.Row?
    ) throws(StoreError) -> (writes: [WriteReference], passedCount: Int) {
        let statement = try self.statements[.conflictsFromLine]
        defer { statement.reset() }
        statement.bind(1, key.rowNumber)
        statement.bind(2, line.rawValue)
        var (writes, passedCount): ([WriteReference], Int) = ([], 0)
        while try statement.step() {
            let write = try self.write(statement)
            if let last = writes.first?.line ?? last, write.line.rawValue > last.rawValue { break }
            if row?.holds(write) ?? false { passedCount += 1 } else { writes.append(write) }
        }
        return (writes, passedCount)
    }

    private func loadConflicts(at key: RegisterKey) throws(StoreError) {
        guard self.versions[key]?.hasStoredConflicts != true else { return }
        self.versions.note(storedConflicts: try self.storedConflicts(at: key), at: key)
    }

    private func storedConflicts(at key: RegisterKey) throws(StoreError) -> [WriteReference] {
        guard !self.objects.isNew(key.object) else { return [] }
        let statement = try self.statements[.conflicts]
        defer { statement.reset() }
        statement.bind(1, key.rowNumber)
        var conflicts: [WriteReference] = []
        while try statement.step() { conflicts.append(try self.write(statement)) }
        return conflicts
    }

    package func registers(of object: ObjectIndex) throws(StoreError) -> [(NameIndex, Register)] {
        try self.flush()
        let statement = try self.statements[.registersOfObject]
        defer { statement.reset() }
        statement.bind(1, RegisterKey(object: object, name: NameIndex(rawValue: 0)).rowNumber)
        statement.bind(2, RegisterKey(object: object, name: NameIndex(rawValue: .max)).rowNumber)
        var found: [(NameIndex, Register)] = []
        while try statement.step() {
            found.append((RegisterKey(rowNumber: statement.int64(6)).name, try self.register(statement)))
        }
        return found
    }

    package func removeRegister(_ key: RegisterKey) throws(StoreError) {
        try self.flush()
        for query in [StoreQuery.deleteRegister, .deleteVersions] {
            let statement = try self.statements[query]
            statement.bind(1, key.rowNumber)
            try statement.run()
        }
    }

    package func history(of object: ObjectIndex) throws(StoreError) -> [WriteReference] {
        try self.flush()
        let statement = try self.statements[.historyOfObject]
        defer { statement.reset() }
        statement.bind(1, RegisterKey(object: object, name: NameIndex(rawValue: 0)).rowNumber)
        statement.bind(2, RegisterKey(object: object, name: NameIndex(rawValue: .max)).rowNumber)
        statement.bind(3, object.rawValue)
        var writes: [WriteReference] = []
        while try statement.step() { writes.append(try self.write(statement)) }
        return writes
    }

    package func conflictedRegisters() throws(StoreError) -> [(RegisterKey, Register)] {
        try self.flush()
        let statement = try self.statements[.conflictedRegisters]
        defer { statement.reset() }
        var found: [(RegisterKey, Register)] = []
        while try statement.step() {
            found.append((RegisterKey(rowNumber: statement.int64(6)), try self.register(statement)))
        }
        return found
    }

    /// Writes registers in the order of their keys.
    func flushRegisters() throws(StoreError) {
        guard self.registers.count > 0 else { return }
        defer { self.registers.removeAll() }
        let keys = self.registers.changedKeys()
        guard !keys.isEmpty else { return }
        let commit = self.commits.running
        let statement = try self.statements[.setRegister]
        var listed = ListedNameBlocks()
        for rowNumber in keys {
            let key = RegisterKey(rowNumber: rowNumber)
            guard let (register, isStored) = self.registers.change(at: key) else { continue }
            // What the database has is listed.
            if !isStored, let entry = listed.note(key) { try self.listName(entry.name, in: entry.block) }
            statement.bind(1, rowNumber)
            Self.bind(register.winner, to: statement, at: 2)
            statement.bind(6, register.isRemoval)
            statement.bind(7, register.conflictCount)
            statement.bind(8, commit)
            statement.bind(9, register.writeCount)
            try statement.run()
        }
    }

    /// Notes that a name occurs in a block of objects, so that a program finds its properties without a look at all.
    private func listName(_ name: UInt32, in block: UInt32) throws(StoreError) {
        let statement = try self.statements[.insertNameBlock]
        statement.bind(1, name)
        statement.bind(2, block)
        try statement.run()
    }

    /// Writes what is not in force in the order of the registers.
    func flushVersions() throws(StoreError) {
        defer { self.versions.removeAll() }
        let changes = self.versions.changes()
        guard !changes.isEmpty else { return }
        let statement = try self.statements[.setVersion]
        for (key, entry) in changes {
            statement.bind(1, key)
            Self.bind(entry.write, to: statement, at: 2)
            statement.bind(6, Int64(entry.status.rawValue))
            try statement.run()
        }
    }

    /// Many more than a chain has changes that all its readers have not seen.
    static let conflictCountMax: Int64 = 1 << 31

    /// More than anybody writes; one more can be counted.
    static let writeCountMax: Int64 = 1 << 62

    func register(_ statement: Statement) throws(StoreError) -> Register {
        guard (0...SQLiteTransaction.conflictCountMax).contains(statement.int64(5)) else {
            throw .damaged("a property in the database has more conflicts than there can be")
        }
        guard (1...SQLiteTransaction.writeCountMax).contains(statement.int64(7)) else {
            throw .damaged("a property in the database has more writes than there can be, or none")
        }
        return Register(
            winner: try self.write(statement),
            isRemoval: statement.bool(4),
            conflictCount: statement.uint32(5),
            writeCount: statement.int64(7)
        )
    }

    /// The write in four columns: stamp, line, sequence, index.
    func write(_ statement: Statement, at column: Int32 = 0) throws(StoreError) -> WriteReference {
        let point = try self.point(statement, at: column + 1)
        guard let index = UInt32(exactly: statement.int64(column + 3)) else {
            throw .damaged("a row of the database names a write that cannot be")
        }
        let stamp = Stamp(rawValue: statement.bits(column))
        return WriteReference(stamp: stamp, line: point.line, sequence: point.sequence, index: index)
    }
}
