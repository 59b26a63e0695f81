internal import CRDTCore
internal import Engine
internal import MergeModel
internal import PeerCrypto
internal import Persistence

/// Everything that a store has made of its log, in words: what is exported, and beside that the count of each
/// property's writes, every version with its status, every move with its effect, and what of branches is merged.
struct DerivedRows: Equatable {
    private let rows: Set<String>

    init(of transaction: inout some StoreTransaction, objects: Set<ObjectID>) throws(StoreError) {
        var rows: Set<String> = []
        let state = try StateReader.state(of: &transaction, objects: objects.sorted())
        for line in state.description.split(separator: "\n") { rows.insert(String(line)) }
        for id in objects.sorted() {
            for index in try transaction.objects(of: id) {
                let record = try transaction.object(index)
                let circle = record.circle == .home ? "" : " in circle \(record.circle.rawValue)"
                let name = ModelWords.short(id) + circle
                rows.insert("\(name) counts \(record.childCount) children, \(record.visibleChildCount) visible")
                for (word, register) in try transaction.registers(of: index) {
                    let property = "\(name).\(try transaction.name(word))"
                    rows.insert(
                        "\(property) counts \(register.writeCount) writes, \(register.conflictCount) in conflict"
                    )
                    for write in try transaction.conflicts(at: RegisterKey(object: index, name: word)) {
                        rows.insert("\(property) has in conflict \(try Self.text(write, &transaction))")
                    }
                }
                for write in try transaction.history(of: index) {
                    rows.insert("\(name) has \(try Self.text(write, &transaction))")
                }
                for operation in try transaction.unmergedOperations(on: index) {
                    let write = try transaction.write(of: operation)
                    let isOfObject = operation.key.name == .lifetime || operation.key.name == .place
                    let part = isOfObject ? "kind \(operation.kind.rawValue)" : try transaction.name(operation.key.name)
                    rows.insert("\(name) has apart \(part): \(try Self.text(write, &transaction))")
                }
                for write in try transaction.deletions(of: index) {
                    rows.insert("\(name) is deleted by \(try Self.text(write, &transaction))")
                }
                for write in try transaction.creations(of: index) {
                    rows.insert("\(name) is created by \(try Self.text(write, &transaction))")
                }
                for move in try transaction.moves(of: index) {
                    let effect = move.isEffective ? "moves" : "does not move"
                    rows.insert("\(name) \(effect) by \(try Self.text(move.write, &transaction))")
                }
            }
        }
        for segment in transaction.segmentIndices {
            let progress = transaction.progress(of: segment)
            guard progress.branch != nil else { continue }
            let replica = ModelWords.short(transaction.replicaID(segment))
            rows.insert("\(replica) is merged from \(progress.firstSequence) to \(progress.countedSequence)")
        }
        self.rows = rows
    }

    private static func text(
        _ write: WriteReference,
        _ transaction: inout some StoreTransaction
    ) throws(StoreError) -> String {
        let hash = try transaction.hash(at: write.point).map { ModelWords.short($0) } ?? "?"
        let replica = ModelWords.short(transaction.replicaID(write.segment))
        return "\(ModelWords.short(write.stamp)) \(replica):\(write.sequence).\(write.index) \(hash)"
    }

    /// A row that one of them has alone, in words; nil if they are equal.
    func difference(from expected: DerivedRows) -> String? {
        if let surplus = self.rows.subtracting(expected.rows).min() { return "“\(surplus)” is too much" }
        return expected.rows.subtracting(self.rows).min().map { "“\($0)” is missing" }
    }
}

extension World {
    /// P19: what a machine has kept up to date is what its own store makes of its log anew, to the last row.
    func compareWithRebuilt(_ machine: Machine) {
        let (founder, now) = (machine.founder, machine.clock.wall(at: self.time))
        do throws(StoreError) {
            let found = try machine.read { transaction throws(StoreError) -> (Set<ObjectID>, DerivedRows)? in
                let log = try LogReading(of: &transaction, founder: founder, now: now)
                guard log.changeCount <= World.modelChangeCountMax,
                    !StateChecks.hasAppliedHeld(at: now, in: transaction),
                    try Merge(now: now, founder: founder).dueRestamps(in: &transaction).isEmpty
                else { return nil }
                return (log.objects, try DerivedRows(of: &transaction, objects: log.objects))
            }
            guard let found, let (objects, kept) = found else { return }
            let disk = SimulatedDisk(seed: 1)
            disk.restore(machine.disk.image())
            disk.start()
            let fileSystem = VirtualFileSystem(disk: disk, seed: 1)
            let database = fileSystem.database(endedUncleanly: true)
            var store = try SQLiteStore(virtual: database, origin: machine.origin)
            let anew = try store.write { transaction throws(StoreError) -> DerivedRows in
                var merge = Merge(now: now, founder: founder)
                try merge.rebuild(in: &transaction)
                return try DerivedRows(of: &transaction, objects: objects)
            }
            store.close()
            self.record.mark(.comparedWithRebuilt)
            if let difference = kept.difference(from: anew) {
                let message = "machine \(machine.number), beside its state computed anew: \(difference)"
                self.record.find(.replayDisagrees, message)
            }
        } catch {
            self.record.find(.replayDisagrees, "machine \(machine.number) cannot compute its state anew: \(error)")
        }
    }
}
