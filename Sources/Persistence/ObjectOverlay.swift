import CRDTCore

/// Objects as the transaction sees them, until they are written.
struct ObjectOverlay {
    struct Entry {
        var record: ObjectRecord
        var isChanged: Bool
        /// Whether the database does not hold the object at all.
        var isNew: Bool
        /// Whether the object stands elsewhere than in the database, so that the index of places must be changed.
        var isMoved: Bool
    }

    private var entries: [ObjectIndex: Entry] = [:]

    var count: Int { self.entries.count }

    func record(_ index: ObjectIndex) -> ObjectRecord? { self.entries[index]?.record }

    func isNew(_ index: ObjectIndex) -> Bool { self.entries[index]?.isNew ?? false }

    /// Holds an object that got its number in this transaction.
    mutating func insertNew(_ record: ObjectRecord, at index: ObjectIndex) {
        self.entries[index] = Entry(record: record, isChanged: true, isNew: true, isMoved: true)
    }

    /// Holds what the database has.
    mutating func note(_ record: ObjectRecord, at index: ObjectIndex) {
        self.entries[index] = Entry(record: record, isChanged: false, isNew: false, isMoved: false)
    }

    /// Replaces the record of an object that is held.
    mutating func set(_ record: ObjectRecord, at index: ObjectIndex) {
        guard let position = self.entries.index(forKey: index) else { return }
        let held = self.entries.values[position].record
        if held.parent != record.parent || held.position != record.position {
            #if PLANTED_BUGS
            let isKept = PlantedBug.positionNotStored.isPlanted && held.parent == record.parent
            let wasMoved = self.entries.values[position].isMoved
            defer { if isKept { self.entries.values[position].isMoved = wasMoved } }
            #endif
            self.entries.values[position].isMoved = true
        }
        self.entries.values[position].record = record
        self.entries.values[position].isChanged = true
    }

    /// What has changed, in the order of the numbers.
    func changes() -> [(index: ObjectIndex, entry: Entry)] {
        var changes: [(index: ObjectIndex, entry: Entry)] = []
        changes.reserveCapacity(self.entries.count)
        for (index, entry) in self.entries where entry.isChanged { changes.append((index, entry)) }
        changes.sort { $0.index.rawValue < $1.index.rawValue }
        return changes
    }

    mutating func removeAll() { self.entries.removeAll(keepingCapacity: true) }
}
