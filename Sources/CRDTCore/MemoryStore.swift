/// A store that keeps everything in memory: for simulation, tests, and merges that need not last.
package struct MemoryStore: ReplicaStore, Sendable {
    private var content: MemoryTransaction

    /// - Parameter origin: the hash before every replica's first change.
    package init(origin: Hash256) {
        self.content = MemoryTransaction(origin: origin)
    }

    package mutating func write<Result>(
        _ body: (inout MemoryTransaction) throws(StoreError) -> Result
    ) throws(StoreError) -> Result {
        try body(&self.content)
    }

    package mutating func read<Result>(
        _ body: (inout MemoryTransaction) throws(StoreError) -> Result
    ) throws(StoreError) -> Result {
        try body(&self.content)
    }
}

/// The rows of a `MemoryStore`.
package struct MemoryTransaction: StoreTransaction, Sendable {
    private let origin: Hash256
    private var replicas: [ReplicaRecord] = []
    private var replicaNumbers = KeyNumbers<ReplicaID>()
    private var names: [String] = []
    private var nameNumbers = KeyNumbers<ExactText>()
    private var objectNumbers = KeyNumbers<ObjectID>()
    private var objects: [ObjectRecord] = []
    private var siblings: [SiblingLinks] = []
    private var chains: [MemoryChain] = []
    private var registers = MemoryRegisters()
    private var moveLog = MemoryMoves()
    private var facts: [String: [UInt8]] = [:]

    /// The children of an object are a list in no particular order, tied together by their numbers; -1 is none.
    private struct SiblingLinks: Sendable {
        var firstChild: Int32 = -1
        var next: Int32 = -1
        var previous: Int32 = -1
    }

    init(origin: Hash256) {
        self.origin = origin
    }

    // MARK: - Numbers for ids

    package mutating func replicaIndex(of id: ReplicaID) -> ReplicaIndex {
        if let index = self.existingReplicaIndex(of: id) { return index }
        let index = ReplicaIndex(rawValue: UInt32(self.replicas.count))
        self.replicas.append(ReplicaRecord(id: id, origin: self.origin))
        self.chains.append(MemoryChain())
        self.replicaNumbers.append(id)
        return index
    }

    package func existingReplicaIndex(of id: ReplicaID) -> ReplicaIndex? {
        self.replicaNumbers.number(of: id).map { ReplicaIndex(rawValue: $0) }
    }

    package mutating func objectIndex(of id: ObjectID) -> ObjectIndex {
        if let index = self.existingObjectIndex(of: id) { return index }
        let index = ObjectIndex(rawValue: UInt32(self.objects.count))
        self.objects.append(ObjectRecord(id: id))
        self.siblings.append(SiblingLinks())
        self.objectNumbers.append(id)
        return index
    }

    package mutating func nameIndex(of name: String) -> NameIndex {
        if let number = self.nameNumbers.number(of: ExactText(name)) { return NameIndex(rawValue: number) }
        let index = NameIndex(rawValue: UInt32(self.names.count))
        self.names.append(name)
        self.nameNumbers.append(ExactText(name))
        return index
    }

    package mutating func existingObjectIndex(of id: ObjectID) -> ObjectIndex? {
        self.objectNumbers.number(of: id).map { ObjectIndex(rawValue: $0) }
    }

    package mutating func name(_ index: NameIndex) -> String { self.names[Int(index.rawValue)] }

    // MARK: - Replicas and the log

    package var replicaCount: Int { self.replicas.count }

    package func replica(_ index: ReplicaIndex) -> ReplicaRecord { self.replicas[Int(index.rawValue)] }

    package func replicaID(_ index: ReplicaIndex) -> ReplicaID { self.replicas[Int(index.rawValue)].id }

    package func progress(of index: ReplicaIndex) -> ReplicaProgress { self.replicas[Int(index.rawValue)].progress }

    package mutating func setReplica(_ record: consuming ReplicaRecord, at index: ReplicaIndex) {
        self.replicas[Int(index.rawValue)] = record
    }

    package mutating func appendLog(_ verified: VerifiedRun, indexes: RunIndexes) {
        self.chains[Int(indexes.replica.rawValue)].append(verified)
    }

    package mutating func stamp(of replica: ReplicaIndex, sequence: UInt64) -> Stamp? {
        self.chains[Int(replica.rawValue)].stamp(sequence)
    }

    package mutating func hash(of replica: ReplicaIndex, sequence: UInt64) -> Hash256? {
        self.chains[Int(replica.rawValue)].hash(sequence)
    }

    package mutating func loadRun(
        of replica: ReplicaIndex,
        from sequence: UInt64,
        limits: RunLimits,
        signed: Bool
    ) -> Run? {
        self.chains[Int(replica.rawValue)].load(from: sequence, limits: limits, signed: signed)
    }

    package mutating func edit(_ write: WriteReference) throws(StoreError) -> Edit? {
        do throws(WireError) {
            return try self.chains[Int(write.replica.rawValue)].edit(write.index, of: write.sequence)
        } catch {
            throw .damaged("an operation in the log cannot be read")
        }
    }

    // MARK: - Registers

    package mutating func register(_ key: RegisterKey) -> Register? { self.registers.register(key) }

    package mutating func setRegister(_ register: Register, at key: RegisterKey) {
        self.registers.set(register, at: key)
    }

    package mutating func addVersion(_ write: WriteReference, status: VersionStatus, at key: RegisterKey) {
        if status == .conflict { self.registers.addConflict(write, at: key) }
    }

    package mutating func setVersion(_ write: WriteReference, status: VersionStatus, at key: RegisterKey) {
        self.registers.removeConflict(write, at: key)
        if status == .conflict { self.registers.addConflict(write, at: key) }
    }

    package mutating func conflicts(at key: RegisterKey) -> [WriteReference] { self.registers.conflicts(at: key) }

    package mutating func registers(of object: ObjectIndex) -> [(NameIndex, Register)] {
        self.registers.all(of: object)
    }

    package mutating func conflictedRegisters() -> [(RegisterKey, Register)] {
        self.registers.conflicted
    }

    // MARK: - Objects and moves

    package mutating func object(_ index: ObjectIndex) -> ObjectRecord { self.objects[Int(index.rawValue)] }

    package mutating func parent(of index: ObjectIndex) -> ObjectIndex? { self.objects[Int(index.rawValue)].parent }

    package mutating func look<Result>(at object: ObjectIndex, _ body: (ObjectRecord) -> Result) -> Result {
        body(self.objects[Int(object.rawValue)])
    }

    package mutating func update<Result>(_ object: ObjectIndex, _ change: (inout ObjectRecord) -> Result) -> Result {
        let position = Int(object.rawValue)
        let before = self.objects[position].parent
        let result = change(&self.objects[position])
        let after = self.objects[position].parent
        if before != after {
            if let before { self.unlink(object, from: before) }
            if let after { self.link(object, under: after) }
        }
        return result
    }

    private mutating func link(_ child: ObjectIndex, under parent: ObjectIndex) {
        let first = self.siblings[Int(parent.rawValue)].firstChild
        self.siblings[Int(child.rawValue)].next = first
        if first >= 0 { self.siblings[Int(first)].previous = Int32(child.rawValue) }
        self.siblings[Int(parent.rawValue)].firstChild = Int32(child.rawValue)
    }

    private mutating func unlink(_ child: ObjectIndex, from parent: ObjectIndex) {
        let (next, previous) = (self.siblings[Int(child.rawValue)].next, self.siblings[Int(child.rawValue)].previous)
        if next >= 0 { self.siblings[Int(next)].previous = previous }
        if previous >= 0 {
            self.siblings[Int(previous)].next = next
        } else {
            self.siblings[Int(parent.rawValue)].firstChild = next
        }
        self.siblings[Int(child.rawValue)].next = -1
        self.siblings[Int(child.rawValue)].previous = -1
    }

    package mutating func children(of parent: ObjectIndex?) -> [ObjectIndex] {
        var found: [ObjectIndex] = []
        if let parent {
            var child = self.siblings[Int(parent.rawValue)].firstChild
            while child >= 0 {
                found.append(ObjectIndex(rawValue: UInt32(child)))
                child = self.siblings[Int(child)].next
            }
        } else {
            found = self.objects.indices.filter { self.objects[$0].parent == nil }
                .map { ObjectIndex(rawValue: UInt32($0)) }
        }
        return found.sorted { left, right in
            let (left, right) = (self.objects[Int(left.rawValue)], self.objects[Int(right.rawValue)])
            return left.position == right.position ? left.id < right.id : left.position < right.position
        }
    }

    package mutating func visibleObjects() -> [ObjectIndex] {
        self.objects.indices.filter { self.objects[$0].isVisible }
            .sorted { self.objects[$0].id < self.objects[$1].id }
            .map { ObjectIndex(rawValue: UInt32($0)) }
    }

    package mutating func addMove(_ move: MoveRecord) { self.moveLog.add(move) }

    package mutating func setMove(_ move: MoveRecord) { self.moveLog.set(move, self.replicas) }

    package mutating func moves(after write: WriteReference) -> [MoveRecord] {
        self.moveLog.after(write, self.replicas)
    }

    package mutating func lastEffectiveMove(of object: ObjectIndex, before write: WriteReference) -> MoveRecord? {
        self.moveLog.lastEffective(of: object, before: write, self.replicas)
    }

    package mutating func movesWithoutEffect() -> [MoveRecord] {
        self.moveLog.withoutEffect(self.replicas)
    }

    // MARK: - Facts

    package mutating func fact(_ name: String) -> [UInt8]? { self.facts[name] }

    package mutating func setFact(_ name: String, _ value: [UInt8]?) { self.facts[name] = value }

    package mutating func clearDerivedState() {
        self.registers = MemoryRegisters()
        self.moveLog = MemoryMoves()
        for position in self.objects.indices {
            self.siblings[position] = SiblingLinks()
            self.objects[position] = ObjectRecord(id: self.objects[position].id)
        }
    }
}
