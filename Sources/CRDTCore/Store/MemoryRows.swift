/// Registers in memory: a table with, for each object, a chain through its own rows, and for each register a chain
/// through its conflicts.
///
/// Writes that are superseded or rejected are in the log; nothing asks for them here.
struct MemoryRegisters: Sendable {
    private struct Row: Sendable {
        var name: NameIndex
        /// The next row of the same object, or -1.
        var next: Int32
        /// The register's first conflict, or -1.
        var firstConflict: Int32
        /// Nil if it was taken away.
        var register: Register?
    }

    private struct Conflict: Sendable {
        var write: WriteReference
        /// The next conflict of the same register, or -1; the next free place in one that is not used.
        var next: Int32
    }

    private var positions = IndexTable()
    private var rows: [Row] = []
    /// The first row of each object, or -1.
    private var firstRows: [Int32] = []
    private var conflicts: [Conflict] = []
    private var firstFree: Int32 = -1
    /// The register that was asked for last; it is the one written next.
    private var recent: (key: RegisterKey, position: Int)?

    mutating func register(_ key: RegisterKey) -> Register? {
        self.position(of: key).flatMap { self.rows[$0].register }
    }

    mutating func set(_ register: Register, at key: RegisterKey) {
        if let position = self.position(of: key) {
            self.rows[position].register = register
            return
        }
        let object = Int(key.object.rawValue)
        if object >= self.firstRows.count {
            self.firstRows += Array(repeating: -1, count: object + 1 - self.firstRows.count)
        }
        let fresh = self.positions.insert(key.packed)
        self.rows.append(
            Row(name: key.name, next: self.firstRows[object], firstConflict: -1, register: register)
        )
        self.firstRows[object] = Int32(fresh)
        self.recent = (key, fresh)
    }

    mutating func remove(_ key: RegisterKey) {
        for conflict in self.conflicts(at: key) { self.removeConflict(conflict, at: key) }
        if let position = self.position(of: key) { self.rows[position].register = nil }
    }

    func all(of object: ObjectIndex) -> [(NameIndex, Register)] {
        var found: [(NameIndex, Register)] = []
        var next = Int(object.rawValue) < self.firstRows.count ? self.firstRows[Int(object.rawValue)] : -1
        while next >= 0 {
            let row = self.rows[Int(next)]
            if let register = row.register { found.append((row.name, register)) }
            next = row.next
        }
        return found
    }

    /// Every register with conflicts.
    var conflicted: [(RegisterKey, Register)] {
        var found: [(RegisterKey, Register)] = []
        for (object, first) in self.firstRows.enumerated() {
            var next = first
            while next >= 0 {
                let row = self.rows[Int(next)]
                if let register = row.register, register.conflictCount > 0 {
                    let key = RegisterKey(object: ObjectIndex(rawValue: UInt32(object)), name: row.name)
                    found.append((key, register))
                }
                next = row.next
            }
        }
        return found
    }

    // MARK: - Conflicts

    mutating func addConflict(_ write: WriteReference, at key: RegisterKey) {
        guard let position = self.position(of: key) else { return }
        let entry = Conflict(write: write, next: self.rows[position].firstConflict)
        if self.firstFree >= 0 {
            let place = self.firstFree
            self.firstFree = self.conflicts[Int(place)].next
            self.conflicts[Int(place)] = entry
            self.rows[position].firstConflict = place
        } else {
            self.rows[position].firstConflict = Int32(self.conflicts.count)
            self.conflicts.append(entry)
        }
    }

    mutating func removeConflict(_ write: WriteReference, at key: RegisterKey) {
        guard let position = self.position(of: key) else { return }
        var before: Int32 = -1
        var place = self.rows[position].firstConflict
        while place >= 0, self.conflicts[Int(place)].write != write {
            before = place
            place = self.conflicts[Int(place)].next
        }
        guard place >= 0 else { return }
        let next = self.conflicts[Int(place)].next
        if before < 0 {
            self.rows[position].firstConflict = next
        } else {
            self.conflicts[Int(before)].next = next
        }
        self.conflicts[Int(place)].next = self.firstFree
        self.firstFree = place
    }

    mutating func restampConflict(_ write: WriteReference, to stamp: Stamp, at key: RegisterKey) {
        guard let position = self.position(of: key) else { return }
        var place = self.rows[position].firstConflict
        while place >= 0, self.conflicts[Int(place)].write != write { place = self.conflicts[Int(place)].next }
        if place >= 0 { self.conflicts[Int(place)].write.stamp = stamp }
    }

    mutating func conflicts(at key: RegisterKey) -> [WriteReference] {
        guard let position = self.position(of: key) else { return [] }
        var found: [WriteReference] = []
        var place = self.rows[position].firstConflict
        while place >= 0 {
            found.append(self.conflicts[Int(place)].write)
            place = self.conflicts[Int(place)].next
        }
        return found
    }

    private mutating func position(of key: RegisterKey) -> Int? {
        if let recent = self.recent, recent.key == key { return recent.position }
        guard let position = self.positions.position(of: key.packed) else { return nil }
        self.recent = (key, position)
        return position
    }
}

/// Moves in memory, ordered as a whole and for each object.
struct MemoryMoves: Sendable {
    private var table: [MoveRecord] = []
    /// Positions in the table in order of writes, but for those added since the last question.
    private var ordered: [Int32] = []
    private var added: [Int32] = []
    /// The same for each object, by its number.
    private var byObject: [[Int32]] = []

    mutating func add(_ move: MoveRecord) {
        self.added.append(Int32(self.table.count))
        self.table.append(move)
    }

    mutating func set(_ move: MoveRecord, _ segments: [SegmentRecord]) {
        // Moves that are changed were asked for before, so that they stand among the ordered ones.
        let after = self.firstPosition(in: self.ordered, after: move.write, segments)
        if after > 0, self.table[Int(self.ordered[after - 1])].write == move.write {
            self.table[Int(self.ordered[after - 1])] = move
        } else if let position = self.added.last(where: { self.table[Int($0)].write == move.write }) {
            self.table[Int(position)] = move
        }
    }

    mutating func after(_ write: WriteReference, _ segments: [SegmentRecord]) -> [MoveRecord] {
        self.order(segments)
        let start = self.firstPosition(in: self.ordered, after: write, segments)
        if start == self.ordered.count { return [] }
        return self.ordered[start...].map { self.table[Int($0)] }
    }

    mutating func count(from stamp: Stamp, upTo limit: Int, _ segments: [SegmentRecord]) -> Int {
        self.order(segments)
        var count = 0
        for position in self.ordered.reversed() {
            guard count < limit, self.table[Int(position)].write.stamp >= stamp else { break }
            count += 1
        }
        return count
    }

    mutating func lastEffective(
        of object: ObjectIndex,
        before write: WriteReference,
        _ segments: [SegmentRecord]
    ) -> MoveRecord? {
        self.order(segments)
        guard Int(object.rawValue) < self.byObject.count else { return nil }
        let own = self.byObject[Int(object.rawValue)]
        for position in own[..<self.firstPosition(in: own, after: write, segments)].reversed() {
            let move = self.table[Int(position)]
            if move.isEffective, move.write != write { return move }
        }
        return nil
    }

    mutating func withoutEffect(_ segments: [SegmentRecord]) -> [MoveRecord] {
        self.order(segments)
        var found: [MoveRecord] = []
        for positions in self.byObject {
            if let last = positions.last, !self.table[Int(last)].isEffective { found.append(self.table[Int(last)]) }
        }
        return found.sorted { WriteOrder.precedes($0.write, $1.write, segments) }
    }

    /// Takes out the move that an operation is; returns where it stood in the order.
    mutating func remove(_ write: WriteReference, of object: ObjectIndex, _ segments: [SegmentRecord])
        -> WriteReference?
    {
        self.order(segments)
        let own = Int(object.rawValue) < self.byObject.count ? self.byObject[Int(object.rawValue)] : []
        let position = own.first {
            let move = self.table[Int($0)].write
            return move.point == write.point && move.index == write.index
        }
        guard let position else { return nil }
        self.byObject[Int(object.rawValue)].removeAll { $0 == position }
        self.ordered.removeAll { $0 == position }
        return self.table[Int(position)].write
    }

    /// Brings what was added into order: one merge of sorted lists, however many were added.
    private mutating func order(_ segments: [SegmentRecord]) {
        guard !self.added.isEmpty else { return }
        if self.added.count == 1 { return self.orderOne(self.added[0], segments) }
        let fresh = self.added.sorted {
            WriteOrder.precedes(self.table[Int($0)].write, self.table[Int($1)].write, segments)
        }
        self.added = []
        var late: [ObjectIndex: [Int32]] = [:]
        for position in fresh {
            let move = self.table[Int(position)]
            let object = Int(move.object.rawValue)
            if object >= self.byObject.count {
                self.byObject += Array(repeating: [], count: object + 1 - self.byObject.count)
            }
            if let last = self.byObject[object].last,
                WriteOrder.precedes(move.write, self.table[Int(last)].write, segments)
            {
                late[move.object, default: []].append(position)
            } else {
                self.byObject[object].append(position)
            }
        }
        for (object, positions) in late {
            var own: [Int32] = []
            swap(&own, &self.byObject[Int(object.rawValue)])
            self.merge(positions, into: &own, segments)
            swap(&own, &self.byObject[Int(object.rawValue)])
        }
        var ordered: [Int32] = []
        swap(&ordered, &self.ordered)
        self.merge(fresh, into: &ordered, segments)
        self.ordered = ordered
    }

    /// Puts the only move that was added in its place.
    private mutating func orderOne(_ position: Int32, _ segments: [SegmentRecord]) {
        self.added.removeAll(keepingCapacity: true)
        let write = self.table[Int(position)].write
        let object = Int(self.table[Int(position)].object.rawValue)
        if object >= self.byObject.count {
            self.byObject += Array(repeating: [], count: object + 1 - self.byObject.count)
        }
        self.ordered.insert(position, at: self.firstPosition(in: self.ordered, after: write, segments))
        let place = self.firstPosition(in: self.byObject[object], after: write, segments)
        self.byObject[object].insert(position, at: place)
    }

    private func merge(_ fresh: [Int32], into sorted: inout [Int32], _ segments: [SegmentRecord]) {
        func precedes(_ left: Int32, _ right: Int32) -> Bool {
            WriteOrder.precedes(self.table[Int(left)].write, self.table[Int(right)].write, segments)
        }
        guard let last = sorted.last, let first = fresh.first, !precedes(last, first) else {
            sorted += fresh
            return
        }
        let start = self.firstPosition(in: sorted, after: self.table[Int(first)].write, segments)
        let tail = Array(sorted[start...])
        sorted.removeSubrange(start...)
        var next = (tail: 0, fresh: 0)
        while next.tail < tail.count, next.fresh < fresh.count {
            if precedes(fresh[next.fresh], tail[next.tail]) {
                sorted.append(fresh[next.fresh])
                next.fresh += 1
            } else {
                sorted.append(tail[next.tail])
                next.tail += 1
            }
        }
        sorted += tail[next.tail...]
        sorted += fresh[next.fresh...]
    }

    private func firstPosition(
        in positions: [Int32],
        after write: WriteReference,
        _ segments: [SegmentRecord]
    ) -> Int {
        positions.firstPosition { WriteOrder.precedes(write, self.table[Int($0)].write, segments) }
    }
}
