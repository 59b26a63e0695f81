import CRDTCore

/// Registers as the transaction sees them, until they are written.
struct RegisterOverlay {
    struct Entry {
        let rowNumber: Int64
        fileprivate(set) var register: Register?
        fileprivate(set) var isChanged = false
        /// Whether the database has a row for it.
        fileprivate(set) var isStored = false
    }

    private var entries: [Entry] = []
    private var places = IndexTable()

    var count: Int { self.entries.count }

    /// The register held for a key: nil if none is held, `.some(nil)` if it is known that there is none.
    func register(_ key: RegisterKey) -> Register?? {
        self.places.position(of: UInt64(bitPattern: key.rowNumber)).map { self.entries[$0].register }
    }

    /// Holds what the database has.
    mutating func note(_ register: Register?, at key: RegisterKey) {
        let place = self.place(of: key)
        self.entries[place].register = register
        self.entries[place].isStored = register != nil
    }

    /// Returns how many are held now.
    mutating func set(_ register: Register, at key: RegisterKey) -> Int {
        let place = self.place(of: key)
        self.entries[place].register = register
        self.entries[place].isChanged = true
        return self.entries.count
    }

    private mutating func place(of key: RegisterKey) -> Int {
        let place = self.places.insert(UInt64(bitPattern: key.rowNumber))
        if place == self.entries.count { self.entries.append(Entry(rowNumber: key.rowNumber)) }
        return place
    }

    /// What has changed, in the order of the keys in the database.
    func changes() -> [Entry] {
        // Most come in order, which one pass of the sort finds.
        self.entries.filter { $0.isChanged && $0.register != nil }.sorted { $0.rowNumber < $1.rowNumber }
    }

    mutating func removeAll() {
        self.entries.removeAll(keepingCapacity: self.entries.capacity <= 4_096)
        self.places = IndexTable()
    }
}

/// Writes that are not in force, as the transaction sees them, until they are written.
struct VersionOverlay {
    struct Entry {
        var write: WriteReference
        var status: VersionStatus
        var isChanged: Bool
    }

    struct Row {
        /// In the order of the segments, and of the writes of one segment.
        fileprivate(set) var entries: [Entry] = []
        /// Whether the conflicts that the database has are among the entries.
        fileprivate(set) var hasStoredConflicts = false

        /// The first entry of a segment or a later one.
        fileprivate func position(from segment: SegmentIndex) -> Int {
            self.entries.firstPosition { $0.write.segment.rawValue >= segment.rawValue }
        }

        fileprivate func position(of write: WriteReference) -> Int? {
            var position = self.position(from: write.segment)
            while position < self.entries.count, self.entries[position].write.segment == write.segment {
                if self.entries[position].write == write { return position }
                position += 1
            }
            return nil
        }

        fileprivate mutating func insert(_ entry: Entry) {
            let place = (entry.write.segment.rawValue, entry.write.ordinal)
            let position = self.entries.firstPosition { ($0.write.segment.rawValue, $0.write.ordinal) > place }
            self.entries.insert(entry, at: position)
        }

        /// The conflicts on the first segment, from one on, that has any.
        func firstConflicts(from segment: SegmentIndex) -> [WriteReference] {
            var found: [WriteReference] = []
            for entry in self.entries[self.position(from: segment)...] {
                if let first = found.first, first.segment != entry.write.segment { break }
                if entry.status == .conflict { found.append(entry.write) }
            }
            return found
        }

        func holds(_ write: WriteReference) -> Bool { self.position(of: write) != nil }
    }

    private var rows: [RegisterKey: Row] = [:]
    /// New writes that nobody asks for before they are written: all that are no conflict.
    private var settled: [(key: Int64, entry: Entry)] = []
    private(set) var count = 0

    subscript(key: RegisterKey) -> Row? { self.rows[key] }

    /// The conflicts that are held of a register.
    func conflicts(at key: RegisterKey) -> [WriteReference] {
        self.rows[key]?.entries.filter { $0.status == .conflict }.map(\.write) ?? []
    }

    mutating func add(_ write: WriteReference, status: VersionStatus, at key: RegisterKey) {
        let entry = Entry(write: write, status: status, isChanged: true)
        if status == .conflict {
            self.rows[key, default: Row()].insert(entry)
        } else {
            self.settled.append((key.rowNumber, entry))
        }
        self.count += 1
    }

    /// Changes the status of a write.
    mutating func set(_ write: WriteReference, status: VersionStatus, at key: RegisterKey) {
        guard let position = self.rows[key]?.position(of: write) else {
            self.rows[key, default: Row()].insert(Entry(write: write, status: status, isChanged: true))
            self.count += 1
            return
        }
        self.rows[key]?.entries[position].status = status
        self.rows[key]?.entries[position].isChanged = true
    }

    /// Holds the conflicts that the database has, but for those that are held already.
    mutating func note(storedConflicts conflicts: [WriteReference], at key: RegisterKey) {
        var row = self.rows.removeValue(forKey: key) ?? Row()
        for write in conflicts where row.position(of: write) == nil {
            row.insert(Entry(write: write, status: .conflict, isChanged: false))
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
            (left.key, left.entry.write.stamp, left.entry.write.ordinal)
                < (right.key, right.entry.write.stamp, right.entry.write.ordinal)
        }
        return changes
    }

    mutating func removeAll() {
        self.rows.empty()
        self.settled.removeAll(keepingCapacity: true)
        self.count = 0
    }
}

/// Which blocks of names were listed last, so that hardly any is listed twice.
struct ListedNameBlocks {
    /// How many bits of an object's number tell it from the others in its block; the views have it too.
    private static let bitCount: UInt32 = 6
    private static let slotCount = 64

    /// Of the names that share a slot the last, above the number of its block.
    private var slots = [UInt64](repeating: .max, count: ListedNameBlocks.slotCount)

    /// Notes a property; nil if its block was noted lately.
    mutating func note(_ key: RegisterKey) -> (name: UInt32, block: UInt32)? {
        let (name, block) = (key.name.rawValue, key.object.rawValue >> Self.bitCount)
        let entry = UInt64(name) << 32 | UInt64(block)
        let slot = Int(name) % Self.slotCount
        guard self.slots[slot] != entry else { return nil }
        self.slots[slot] = entry
        return (name, block)
    }
}

extension Dictionary {
    /// Removes everything, and keeps the room for a transaction of common size.
    ///
    /// To walk or to empty a table costs its room, and not what it holds: after one large transaction each small one
    /// would cost as much.
    mutating func empty() { self.removeAll(keepingCapacity: self.capacity <= 4_096) }
}

extension RegisterKey {
    /// The key of the register's row: the object's number above the name's.
    var rowNumber: Int64 { Int64(self.object.rawValue) << 32 | Int64(self.name.rawValue) }

    /// The key that comes before all others of an object.
    static func first(of object: ObjectIndex) -> RegisterKey { Self(object: object, name: NameIndex(rawValue: 0)) }

    /// The key that comes behind all properties of an object: that of its creations and deletions.
    static func last(of object: ObjectIndex) -> RegisterKey { Self(object: object, name: .lifetime) }

    init(rowNumber: Int64) {
        self.init(
            object: ObjectIndex(rawValue: UInt32(truncatingIfNeeded: rowNumber >> 32)),
            name: NameIndex(rawValue: UInt32(truncatingIfNeeded: rowNumber))
        )
    }
}
