/// Writes to properties.
extension Merge {
    /// Contexts are counted anew: registers may have changed in another way since.
    mutating func forgetExamined() {
        self.contextNumber += 1
        self.examined.removeAll(keepingCapacity: true)
    }

    /// Puts what a write had seen of the conflicting writes of a property behind it.
    ///
    /// Of very many, those that a context does not cover are looked at once for all writes with that context.
    private mutating func supersede(
        _ register: inout Register,
        at key: RegisterKey,
        _ context: CausalContext,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        let seen: [WriteReference]
        if context.number == self.contextNumber, let own = self.examined[key] {
            seen = own.map { [$0] } ?? []
        } else {
            seen = try transaction.conflicts(at: key, coveredBy: context)
        }
        for conflict in seen {
            guard register.conflictCount > 0 else {
                throw .damaged("a property has more conflicting writes than the database counts")
            }
            try transaction.setVersion(conflict, status: .superseded, at: key)
            register.conflictCount -= 1
        }
        if context.number == self.contextNumber { self.examined[key] = .some(nil) }
    }

    /// A write meets a register: the highest in order is in force; what the new write had seen is superseded, what it
    /// had not is in conflict with it.
    mutating func write(
        _ write: WriteReference,
        isRemoval: Bool,
        _ context: CausalContext,
        at key: RegisterKey,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        guard let current = try transaction.register(key) else {
            let register = Register(winner: write, isRemoval: isRemoval, conflictCount: 0)
            return try transaction.setRegister(register, at: key)
        }
        var register = current
        if current.conflictCount > 0 { try self.supersede(&register, at: key, context, in: &transaction) }
        #if PLANTED_BUGS
        if PlantedBug.lastArrivalWins.isPlanted {
            register.winner = write
            register.isRemoval = isRemoval
            return try transaction.setRegister(register, at: key)
        }
        if PlantedBug.removalAlwaysLoses.isPlanted, isRemoval, !current.isRemoval, !context.covers(current.winner) {
            try transaction.addVersion(write, status: .conflict, at: key)
            register.conflictCount += 1
            return try transaction.setRegister(register, at: key)
        }
        #endif
        if WriteOrder.precedes(current.winner, write, transaction) {
            let isSeen = context.covers(current.winner)
            try transaction.addVersion(current.winner, status: isSeen ? .superseded : .conflict, at: key)
            register.winner = write
            register.isRemoval = isRemoval
            register.conflictCount += isSeen ? 0 : 1
        } else {
            try transaction.addVersion(write, status: .conflict, at: key)
            register.conflictCount += 1
            if self.examined[key] != nil { self.examined[key] = .some(write) }
        }
        try transaction.setRegister(register, at: key)
    }
}
