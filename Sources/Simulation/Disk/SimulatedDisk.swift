/// The disk of one machine: files in memory that know what was synced, and the faults it has been told to have.
///
/// Only the world it belongs to uses it, from one thread.
package final class SimulatedDisk {
    package private(set) var files: [String: DiskFile] = [:]
    package var faults = DiskFaults()
    /// While an oracle looks at the store, no fault shows and no call counts.
    var isObserved = false
    /// Store calls so far.
    package private(set) var callCount = 0
    /// How many of them change a file.
    private(set) var changeCount = 0
    /// Rises with every ending: handles opened before it are dead.
    private(set) var epoch = 0
    /// False from an ending until the next start: nothing can be read or written.
    package private(set) var isOn = true
    /// The ending that a store call brought; to be looked at after each use of the store.
    package private(set) var ending: Ending?
    /// Faults that have shown themselves, in the order they did.
    package private(set) var shown: [Fault] = []
    /// Milliseconds since 1970, as the machine's clock has it.
    var wallMilliseconds: UInt64 = 0
    private var random: LossGenerator

    package init(seed: UInt64) { self.random = LossGenerator(seed: seed) }

    /// Whether a store call is carried out; each is to ask first.
    package func enters(_ call: DiskCall) -> Bool {
        guard self.isOn else { return false }
        if self.isObserved { return true }
        self.callCount += 1
        if call == .write || call == .truncate { self.changeCount += 1 }
        if let planned = self.faults.ending, self.callCount >= planned.call {
            self.faults.ending = nil
            self.ending = planned.1
            self.end(planned.1)
            return false
        }
        if self.faults.failing == call {
            self.faults.failing = nil
            self.note(call)
            return false
        }
        return true
    }

    /// Whether a file may grow by so many bytes, or be made.
    func mayGrow(by byteCount: Int = 0) -> Bool {
        if let room = self.faults.roomByteCount {
            self.faults.roomByteCount = max(0, room - byteCount)
            self.faults.isFull = self.faults.isFull || byteCount > room
        }
        if self.faults.isFull { self.show(.diskFull) }
        return !self.faults.isFull
    }

    /// Syncs a file, or says so.
    package func sync(_ file: DiskFile) {
        if self.faults.syncLies {
            self.show(.lyingSync)
            file.owesSync = true
        } else {
            file.sync()
        }
    }

    private func note(_ call: DiskCall) {
        switch call {
        case .open, .read: self.show(.readError)
        case .write, .truncate, .remove: self.show(.writeError)
        case .sync: self.show(.syncError)
        }
    }

    private func show(_ fault: Fault) {
        if self.shown.last != fault { self.shown.append(fault) }
    }

    /// Takes the list of faults that have shown themselves since this was last called.
    func takeShown() -> [Fault] {
        let shown = self.shown
        self.shown = []
        return shown
    }

    // MARK: - Files

    package func file(_ name: String) -> DiskFile? { self.files[name] }

    func makeFile(_ name: String) -> DiskFile {
        let file = DiskFile()
        self.files[name] = file
        return file
    }

    func remove(_ name: String) { self.files[name] = nil }

    /// Changes one bit of a file where it lies, as decay does.
    package func rot(_ name: String, at offset: Int) { self.files[name]?.flipBit(0, at: offset) }

    // MARK: - Names that a folder must be synced for

    /// A change of one name, or of two at once, and what these led to before.
    private struct NameChange {
        var folders: [String]
        var before: [(name: String, file: DiskFile?)]
    }

    private var unsyncedNames: [NameChange] = []

    private func note(_ names: [String], in folders: [String]) {
        self.unsyncedNames.append(NameChange(folders: folders, before: names.map { ($0, self.files[$0]) }))
    }

    func makeFile(_ name: String, in folder: String) -> DiskFile {
        self.note([name], in: [folder])
        return self.makeFile(name)
    }

    func remove(_ name: String, in folder: String) {
        guard self.files[name] != nil else { return }
        self.note([name], in: [folder])
        self.remove(name)
    }

    /// Gives a file another name, in the place of what has that; false if there is no such file.
    func rename(_ name: String, to new: String, in folders: [String]) -> Bool {
        guard let file = self.files[name] else { return false }
        self.note([name, new], in: folders)
        (self.files[name], self.files[new]) = (nil, file)
        return true
    }

    /// The names of a folder are on the platter; a change of two folders is there as a whole.
    func syncNames(in folder: String) {
        if self.faults.syncLies { return self.show(.lyingSync) }
        self.unsyncedNames.removeAll { $0.folders.contains(folder) }
    }

    /// The power goes: the last changes of names are taken back.
    private func loseNames(_ outcome: PowerLoss) -> Bool {
        let count = self.unsyncedNames.count
        let kept =
            switch outcome {
            case .keepsAll: count
            case .losesAll: 0
            case .losesTail, .losesSome, .tears: count == 0 ? 0 : self.random.below(count + 1)
            }
        for change in self.unsyncedNames[kept...].reversed() {
            for (name, file) in change.before { self.files[name] = file }
        }
        self.unsyncedNames = []
        return kept < count
    }

    /// Everything as it is now, for a backup or another machine.
    func image() -> DiskImage {
        DiskImage(files: self.files.map { ($0.key, $0.value.content) }.sorted { $0.0 < $1.0 })
    }

    /// Replaces everything.
    func restore(_ image: DiskImage) {
        self.files = [:]
        for (name, content) in image.files { self.files[name] = DiskFile(content: content) }
        self.unsyncedNames = []
        self.epoch += 1
    }

    // MARK: - Power

    /// Ends the process, or cuts the power.
    package func end(_ ending: Ending) {
        self.epoch += 1
        self.isOn = false
        guard case .powerCut(let outcome) = ending else { return }
        var lost = self.loseNames(outcome)
        for name in self.files.keys.sorted() {
            guard let file = self.files[name], file.hasUnsyncedChanges else { continue }
            let owed = file.owesSync
            let isLost = file.losePower(outcome, &self.random)
            lost = lost || isLost
            self.brokePromise = self.brokePromise || (isLost && owed)
        }
        self.lostUnsynced = self.lostUnsynced || lost
    }

    /// Whether a power cut has lost unsynced writes since the last start.
    private(set) var lostUnsynced = false

    /// Whether a power cut has lost, since the last start, what was said to be synced.
    private(set) var brokePromise = false

    /// Makes the disk usable again.
    package func start() {
        self.isOn = true
        self.ending = nil
        self.lostUnsynced = false
        self.brokePromise = false
        self.faults.ending = nil
        self.faults.failing = nil
    }
}

/// The files of a disk at one time.
package struct DiskImage {
    package var files: [(name: String, content: [UInt8])]
}

/// Decides which unsynced writes are lost: apart from the choice tape, so that a cut does not shift later choices.
package struct LossGenerator {
    private var state: UInt64

    package init(seed: UInt64) { self.state = seed }

    package mutating func below(_ bound: Int) -> Int {
        self.state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = self.state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return bound <= 1 ? 0 : Int((mixed ^ (mixed >> 31)) % UInt64(bound))
    }

    package mutating func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8(self.below(256)) } }
}
