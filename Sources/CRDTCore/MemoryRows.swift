/// Registers in memory: a table with, for each object, a chain through its own rows.
struct MemoryRegisters: Sendable {
    private struct Row: Sendable {
        var name: NameIndex
        /// The next row of the same object, or -1.
        var next: Int32
        var register: Register
    }

    private var positions: [RegisterKey: Int32] = [:]
    private var rows: [Row] = []
    private var firstRows: [ObjectIndex: Int32] = [:]
    /// Writes that are not in force.
    var versions: [RegisterKey: [WriteReference: VersionStatus]] = [:]

    func register(_ key: RegisterKey) -> Register? {
        self.positions[key].map { self.rows[Int($0)].register }
    }

    mutating func set(_ register: Register, at key: RegisterKey) {
        let fresh = Int32(self.rows.count)
        let position = self.positions[key] ?? fresh
        guard position == fresh else {
            self.rows[Int(position)].register = register
            return
        }
        self.positions[key] = fresh
        let next = self.firstRows.updateValue(fresh, forKey: key.object) ?? -1
        self.rows.append(Row(name: key.name, next: next, register: register))
    }

    func all(of object: ObjectIndex) -> [(NameIndex, Register)] {
        var found: [(NameIndex, Register)] = []
        var next = self.firstRows[object] ?? -1
        while next >= 0 {
            let row = self.rows[Int(next)]
            found.append((row.name, row.register))
            next = row.next
        }
        return found
    }
}

/// Moves in memory, ordered as a whole and for each object.
struct MemoryMoves: Sendable {
    private var table: [MoveRecord] = []
    private var positions: [WriteReference: Int32] = [:]
    /// Positions in the table in order of writes, but for those added since the last question.
    private var ordered: [Int32] = []
    private var added: [Int32] = []
    private var byObject: [ObjectIndex: [Int32]] = [:]

    mutating func add(_ move: MoveRecord) {
        let position = Int32(self.table.count)
        self.table.append(move)
        self.positions[move.write] = position
        self.added.append(position)
    }

    mutating func set(_ move: MoveRecord) {
        if let position = self.positions[move.write] { self.table[Int(position)] = move }
    }

    mutating func after(_ write: WriteReference, _ replicas: [ReplicaRecord]) -> [MoveRecord] {
        self.order(replicas)
        let start = self.firstPosition(in: self.ordered, after: write, replicas)
        return self.ordered[start...].map { self.table[Int($0)] }
    }

    mutating func lastEffective(
        of object: ObjectIndex,
        before write: WriteReference,
        _ replicas: [ReplicaRecord]
    ) -> MoveRecord? {
        self.order(replicas)
        let own = self.byObject[object] ?? []
        for position in own[..<self.firstPosition(in: own, after: write, replicas)].reversed() {
            let move = self.table[Int(position)]
            if move.isEffective, move.write != write { return move }
        }
        return nil
    }

    mutating func withoutEffect(_ replicas: [ReplicaRecord]) -> [MoveRecord] {
        self.order(replicas)
        var found: [MoveRecord] = []
        for positions in self.byObject.values {
            if let last = positions.last, !self.table[Int(last)].isEffective { found.append(self.table[Int(last)]) }
        }
        return found.sorted { Self.precedes($0.write, $1.write, replicas) }
    }

    /// Brings what was added into order: one merge of sorted lists, however many were added.
    private mutating func order(_ replicas: [ReplicaRecord]) {
        guard !self.added.isEmpty else { return }
        let fresh = self.added.sorted {
            Self.precedes(self.table[Int($0)].write, self.table[Int($1)].write, replicas)
        }
        self.added = []
        var touched: [ObjectIndex: [Int32]] = [:]
        for position in fresh { touched[self.table[Int(position)].object, default: []].append(position) }
        for (object, positions) in touched {
            var own = self.byObject.removeValue(forKey: object) ?? []
            self.merge(positions, into: &own, replicas)
            self.byObject[object] = own
        }
        var ordered: [Int32] = []
        swap(&ordered, &self.ordered)
        self.merge(fresh, into: &ordered, replicas)
        self.ordered = ordered
    }

    private func merge(_ fresh: [Int32], into sorted: inout [Int32], _ replicas: [ReplicaRecord]) {
        func precedes(_ left: Int32, _ right: Int32) -> Bool {
            Self.precedes(self.table[Int(left)].write, self.table[Int(right)].write, replicas)
        }
        guard let last = sorted.last, let first = fresh.first, !precedes(last, first) else {
            sorted += fresh
            return
        }
        let start = self.firstPosition(in: sorted, after: self.table[Int(first)].write, replicas)
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
        _ replicas: [ReplicaRecord]
    ) -> Int {
        var range = 0..<positions.count
        while !range.isEmpty {
            let middle = range.lowerBound + range.count / 2
            if Self.precedes(write, self.table[Int(positions[middle])].write, replicas) {
                range = range.lowerBound..<middle
            } else {
                range = middle + 1..<range.upperBound
            }
        }
        return range.lowerBound
    }

    private static func precedes(
        _ left: WriteReference,
        _ right: WriteReference,
        _ replicas: [ReplicaRecord]
    ) -> Bool {
        WriteOrder.precedes(left, right) { replicas[Int($0.rawValue)].id }
    }
}
