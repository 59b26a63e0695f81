import CRDTCore

/// Registers as the transaction sees them, until they are written.
struct RegisterOverlay {
    private struct Entry {
        var register: Register?
        var isChanged: Bool
    }

    private var entries: [RegisterKey: Entry] = [:]

    var count: Int { self.entries.count }

    /// The register held for a key: nil if none is held, `.some(nil)` if it is known that there is none.
    func register(_ key: RegisterKey) -> Register?? { self.entries[key].map(\.register) }

    /// Holds what the database has.
    mutating func note(_ register: Register?, at key: RegisterKey) {
        self.entries[key] = Entry(register: register, isChanged: false)
    }

    mutating func set(_ register: Register, at key: RegisterKey) {
        self.entries[key] = Entry(register: register, isChanged: true)
    }

    /// What has changed, in the order of the keys in the database.
    func changes() -> [(key: Int64, register: Register)] {
        var changes: [(key: Int64, register: Register)] = []
        changes.reserveCapacity(self.entries.count)
        for (key, entry) in self.entries where entry.isChanged {
            if let register = entry.register { changes.append((key.rowNumber, register)) }
        }
        changes.sort { $0.key < $1.key }
        return changes
    }

    mutating func removeAll() { self.entries.removeAll(keepingCapacity: true) }
}

/// Writes that are not in force, as the transaction sees them, until they are written.
struct VersionOverlay {
    struct Entry {
        var write: WriteReference
        var status: VersionStatus
        var isChanged: Bool
    }

    struct Row {
        var entries: [Entry] = []
        /// Whether the conflicts that the database has are among the entries.
        var hasStoredConflicts = false
    }

    private var rows: [RegisterKey: Row] = [:]
    /// New writes that nobody asks for before they are written: all that are no conflict.
    private var settled: [(key: Int64, entry: Entry)] = []
    private(set) var count = 0

    subscript(key: RegisterKey) -> Row? { self.rows[key] }

    /// The conflicts that are held of a register and fulfil a condition.
    func conflicts(at key: RegisterKey, where condition: (WriteReference) -> Bool) -> [WriteReference] {
        guard let row = self.rows[key] else { return [] }
        var found: [WriteReference] = []
        for position in row.entries.indices
        where row.entries[position].status == .conflict && condition(row.entries[position].write) {
            found.append(row.entries[position].write)
        }
        return found
    }

    mutating func add(_ write: WriteReference, status: VersionStatus, at key: RegisterKey) {
        let entry = Entry(write: write, status: status, isChanged: true)
        if status == .conflict {
            self.rows[key, default: Row()].entries.append(entry)
        } else {
            self.settled.append((key.rowNumber, entry))
        }
        self.count += 1
    }

    /// Changes the status of a write.
    mutating func set(_ write: WriteReference, status: VersionStatus, at key: RegisterKey) {
        guard let position = self.rows[key]?.entries.firstIndex(where: { $0.write == write }) else {
            self.rows[key, default: Row()].entries.append(Entry(write: write, status: status, isChanged: true))
            self.count += 1
            return
        }
        self.rows[key]?.entries[position].status = status
        self.rows[key]?.entries[position].isChanged = true
    }

    /// Holds the conflicts that the database has, but for those that are held already.
    mutating func note(storedConflicts conflicts: [WriteReference], at key: RegisterKey) {
        var row = self.rows.removeValue(forKey: key) ?? Row()
        let held = Set(row.entries.map(\.write))
        for write in conflicts where !held.contains(write) {
            row.entries.append(Entry(write: write, status: .conflict, isChanged: false))
            self.count += 1
        }
        row.hasStoredConflicts = true
        self.rows[key] = row
    }

    /// What has changed, in the order of the registers in the database.
    func changes() -> [(key: Int64, entry: Entry)] {
        var changes = self.settled
        for (key, row) in self.rows {
            for entry in row.entries where entry.isChanged { changes.append((key.rowNumber, entry)) }
        }
        changes.sort { left, right in
            if left.key != right.key { return left.key < right.key }
            if left.entry.write.stamp != right.entry.write.stamp {
                return left.entry.write.stamp < right.entry.write.stamp
            }
            return left.entry.write.ordinal < right.entry.write.ordinal
        }
        return changes
    }

    mutating func removeAll() {
        self.rows.removeAll(keepingCapacity: true)
        self.settled.removeAll(keepingCapacity: true)
        self.count = 0
    }
}

extension RegisterKey {
    /// The key of the register's row: the object's number above the name's.
    var rowNumber: Int64 { Int64(self.object.rawValue) << 32 | Int64(self.name.rawValue) }

    init(rowNumber: Int64) {
        self.init(
            object: ObjectIndex(rawValue: UInt32(truncatingIfNeeded: rowNumber >> 32)),
            name: NameIndex(rawValue: UInt32(truncatingIfNeeded: rowNumber))
        )
    }
}
