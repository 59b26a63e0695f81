internal import CRDTCore
internal import Engine
internal import Persistence

/// What happens to disks, and to copies of them.
extension World {
    /// How long it takes to put a backup back.
    private static let restoreTime = VirtualTime.seconds(2)

    package func perform(_ action: DiskAction, on machine: Machine) {
        if machine.hostile != nil { return }
        switch action {
        case .failNext(let call): machine.disk.faults.failing = call
        case .full(let length):
            machine.disk.faults.isFull = true
            self.schedule(after: length) { _ in machine.disk.faults.hasRoomAgain() }
        case .fullAfter(let byteCount, let length):
            machine.disk.faults.roomByteCount = byteCount
            self.schedule(after: length) { _ in machine.disk.faults.hasRoomAgain() }
        case .lie(let length):
            machine.disk.faults.syncLies = true
            self.schedule(after: length) { _ in machine.disk.faults.syncLies = false }
        case .flipBit(let seed): self.rot(machine, seed: seed)
        case .alter(let seed): self.alter(machine, seed: seed)
        case .loseLog: self.loseLog(of: machine)
        case .backUp:
            if machine.isUp { machine.backup = Machine.Backup(database: machine.disk.image(), tokens: machine.tokens) }
        case .restore(let isDatabaseAlone): self.restore(machine, isDatabaseAlone: isDatabaseAlone)
        case .clone(let isDatabaseAlone): self.clone(machine, isDatabaseAlone: isDatabaseAlone)
        }
    }

    private func rot(_ machine: Machine, seed: Int) {
        guard let file = machine.disk.file(Machine.databasePath), !file.content.isEmpty else { return }
        self.record.count(.bitRot)
        self.taint(machine)
        var random = LossGenerator(seed: UInt64(seed))
        let offset = random.below(file.content.count)
        file.flipBit(random.below(8), at: offset)
    }

    /// How long a machine may show what another program has altered.
    private static let mendingTime = VirtualTime.seconds(60)

    private func alter(_ machine: Machine, seed: Int) {
        guard machine.isUp else { return }
        var random = LossGenerator(seed: UInt64(seed))
        do throws(StoreError) {
            try machine.node?.keep { transaction throws(StoreError) in
                for object in try transaction.visibleObjects() {
                    for (name, register) in try transaction.registers(of: object) where random.below(2) == 0 {
                        var altered = register
                        let key = RegisterKey(object: object, name: name)
                        let earlier = try transaction.supersededWrites(at: key, upTo: 1) { _ in true }
                        if let write = earlier.first { altered.winner = write }
                        altered.writeCount += 1
                        try transaction.setRegister(altered, at: key)
                    }
                }
            }
        } catch {
            return self.record.mark(.storeFailed)
        }
        machine.alteredUntil = self.time + World.mendingTime
        self.handle(machine, .databaseChanged)
    }

    private func loseLog(of machine: Machine) {
        guard machine.isUp else { return }
        self.record.count(.lostLog)
        self.taint(machine)
        self.end(machine, .kill, downtime: World.restoreTime)
        machine.disk.remove(Machine.databasePath + "-wal")
    }

    private func restore(_ machine: Machine, isDatabaseAlone: Bool) {
        guard machine.isUp, let backup = machine.backup else { return }
        self.record.count(isDatabaseAlone ? .restoredDatabase : .restoredMachine)
        self.oracles.acknowledged.holderIsGone(machine, self.machines)
        self.end(machine, .kill, downtime: World.restoreTime)
        machine.view = StoreContent()
        machine.writeCounts = WriteCounts()
        machine.disk.restore(backup.database)
        // With the whole disk comes the token that the database had then, so that nobody can tell.
        if !isDatabaseAlone { machine.tokens = backup.tokens }
        // The token is another one only if the process was started again since.
        let isHidden = !isDatabaseAlone || machine.tokens == backup.tokens
        self.hasHiddenCopy = self.hasHiddenCopy || isHidden
    }

    private func clone(_ machine: Machine, isDatabaseAlone: Bool) {
        guard machine.isUp else { return }
        self.record.count(isDatabaseAlone ? .copiedDatabase : .clonedDisk)
        let copy = self.add(keyFile: machine.keyFile, origin: machine.origin)
        copy.disk.restore(machine.disk.image())
        if !isDatabaseAlone { copy.tokens = machine.tokens }
        copy.clock = machine.clock
        copy.highestWall = machine.highestWall
        self.hasHiddenCopy = self.hasHiddenCopy || !isDatabaseAlone
        copy.endedUncleanly = true
        copy.isTainted = machine.isTainted
        self.start(copy)
        // Somebody works on the copy too, and so on both under one replica id if nobody notices.
        for delay in [1, 3, 9] as [UInt64] {
            let steps: [WorkStep] = [.set(self.tape.below(3, .network), property: 0), .twins]
            self.schedule(after: .seconds(delay)) { if $0.isFaulty { $0.write(steps, on: copy) } }
        }
    }
}
