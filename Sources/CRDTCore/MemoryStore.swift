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
    private var replicaIndexes: [ReplicaID: ReplicaIndex] = [:]
    private var names: [String] = []
    private var nameIndexes: [ExactText: NameIndex] = [:]
    private var objectIndexes: [ObjectID: ObjectIndex] = [:]
    private var objects: [ObjectRecord] = []
    private var childrenByParent: [ObjectIndex: Set<ObjectIndex>] = [:]
    private var chains: [MemoryChain] = []
    private var registers = MemoryRegisters()
    private var moveLog = MemoryMoves()
    private var facts: [String: [UInt8]] = [:]

    init(origin: Hash256) {
        self.origin = origin
    }

    // MARK: - Numbers for ids

    package mutating func replicaIndex(of id: ReplicaID) -> ReplicaIndex {
        if let index = self.replicaIndexes[id] { return index }
        let index = ReplicaIndex(rawValue: UInt32(self.replicas.count))
        self.replicas.append(ReplicaRecord(id: id, origin: self.origin))
        self.chains.append(MemoryChain())
        self.replicaIndexes[id] = index
        return index
    }

    package func existingReplicaIndex(of id: ReplicaID) -> ReplicaIndex? { self.replicaIndexes[id] }

    package mutating func objectIndex(of id: ObjectID) -> ObjectIndex {
        if let index = self.objectIndexes[id] { return index }
        let index = ObjectIndex(rawValue: UInt32(self.objects.count))
        self.objects.append(ObjectRecord(id: id))
        self.objectIndexes[id] = index
        return index
    }

    package mutating func nameIndex(of name: String) -> NameIndex {
        if let index = self.nameIndexes[ExactText(name)] { return index }
        let index = NameIndex(rawValue: UInt32(self.names.count))
        self.names.append(name)
        self.nameIndexes[ExactText(name)] = index
        return index
    }

    package mutating func existingObjectIndex(of id: ObjectID) -> ObjectIndex? { self.objectIndexes[id] }

    package mutating func name(_ index: NameIndex) -> String { self.names[Int(index.rawValue)] }

    // MARK: - Replicas and the log

    package var replicaCount: Int { self.replicas.count }

    package func replica(_ index: ReplicaIndex) -> ReplicaRecord { self.replicas[Int(index.rawValue)] }

    package mutating func setReplica(_ record: ReplicaRecord, at index: ReplicaIndex) {
        self.replicas[Int(index.rawValue)] = record
    }

    package mutating func appendLog(_ verified: VerifiedRun, indexes: RunIndexes) {
        self.chains[Int(indexes.replica.rawValue)].append(verified, indexes: indexes)
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
        let id = self.replica(replica).id
        return self.chains[Int(replica.rawValue)].load(
            from: sequence,
            limits: limits,
            signed: signed,
            builder: RunBuilder(replica: id, firstSequence: sequence),
            object: { self.objects[Int($0.rawValue)].id },
            name: { self.names[Int($0.rawValue)] }
        )
    }

    package mutating func edit(_ write: WriteReference) throws(StoreError) -> Edit? {
        let run = self.chains[Int(write.replica.rawValue)].loadOne(
            write.index,
            of: write.sequence,
            builder: RunBuilder(replica: self.replica(write.replica).id, firstSequence: write.sequence),
            object: { self.objects[Int($0.rawValue)].id },
            name: { self.names[Int($0.rawValue)] }
        )
        guard let run else { return nil }
        do throws(WireError) {
            return try run.edit(run.operations[0])
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

    package mutating func setObject(_ record: ObjectRecord, at index: ObjectIndex) {
        let before = self.objects[Int(index.rawValue)].parent
        if before != record.parent {
            if let before { self.childrenByParent[before]?.remove(index) }
            if let after = record.parent { self.childrenByParent[after, default: []].insert(index) }
        }
        self.objects[Int(index.rawValue)] = record
    }

    package mutating func children(of parent: ObjectIndex?) -> [ObjectIndex] {
        let found: [ObjectIndex]
        if let parent {
            found = Array(self.childrenByParent[parent] ?? [])
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
        self.childrenByParent = [:]
        for position in self.objects.indices {
            self.objects[position] = ObjectRecord(id: self.objects[position].id)
        }
    }
}
