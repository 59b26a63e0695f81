package import CRDTCore
internal import Engine

/// The writes of local callers: what was asked for, and what came of it.
package struct Workload {
    private var nextRequest: UInt64 = 1
    private var values: UInt64 = 0
    /// Objects that no step names have numbers from here on.
    private var nextObject = 1_000_000
    package var acknowledgedCount = 0
    /// Whether a step makes an object that is not there, whatever it does with it; else only creations do.
    var makesObjects = true

    /// CheckedProperty names, few so that writes collide.
    static let propertyNames = ["title", "body", "done"]
    /// The two objects and properties that are only ever written together.
    static let twins: [(object: ObjectID, property: String)] = [
        (Workload.object(1_000), "left"), (Workload.object(1_001), "right"),
    ]

    /// The id of a numbered object.
    package static func object(_ number: Int) -> ObjectID {
        var generator = LossGenerator(seed: UInt64(number))
        let high = UInt64(generator.below(.max))
        return ObjectID(bytes: Bytes16(high: high, low: UInt64(number)))
    }

    mutating func nextRequestID() -> RequestID {
        defer { self.nextRequest += 1 }
        return RequestID(rawValue: self.nextRequest)
    }

    mutating func request(_ steps: [WorkStep], as action: ActionContext) -> WriteRequest {
        WriteRequest(
            id: self.nextRequestID(),
            transaction: Transaction(steps.flatMap { self.transactionSteps($0) }),
            action: action
        )
    }

    /// The same on a branch.
    mutating func request(_ steps: [WorkStep], on branch: BranchID, as action: ActionContext) -> WriteRequest {
        let wanted = steps.flatMap { self.transactionSteps($0) }
        return WriteRequest(id: self.nextRequestID(), branch: branch, action: action) { local throws(WriteRefusal) in
            for step in wanted { try local.perform(step) }
        }
    }

    private mutating func transactionSteps(_ step: WorkStep) -> [Transaction.Step] {
        switch step {
        case .create(let number, let parent):
            return [Workload.making(Workload.object(number), under: parent.map { Workload.object($0) })]
        case .set(let number, let property):
            let object = Workload.object(number)
            let name = Workload.name(property)
            return self.making(object) + [.set(object, name: name, value: self.nextValue())]
        case .unset(let number, let property): return [.unset(Workload.object(number), name: Workload.name(property))]
        case .assign(let number, let name, let text):
            let object = Workload.object(number)
            return self.making(object) + [.set(object, name: name, value: .string(text))]
        case .clear(let number, let name): return [.unset(Workload.object(number), name: name)]
        case .move(let number, let parent):
            return [.move(Workload.object(number), parent: parent.map { Workload.object($0) }, before: nil)]
        case .delete(let number): return [.delete(Workload.object(number))]
        case .insert(let parent, let sibling):
            let object = self.newObject()
            return [
                Workload.making(object),
                .move(object, parent: Workload.object(parent), before: sibling.map { Workload.object($0) }),
            ]
        case .fill(let parent, let count):
            return (0..<count).map { _ in Workload.making(self.newObject(), under: Workload.object(parent)) }
        case .spread(let number, let count, let byteCount):
            let object = Workload.object(number)
            let sets = (0..<count).map { position -> Transaction.Step in
                let name = String(position) + String(repeating: "n", count: max(0, byteCount - 6))
                return .set(object, name: name, value: .int(Int64(position)))
            }
            return self.making(object) + sets
        case .twins:
            let value = self.nextValue()
            return Workload.twins.flatMap { twin -> [Transaction.Step] in
                [
                    Workload.making(twin.object, type: "twin"),
                    .set(twin.object, name: twin.property, value: value),
                ]
            }
        }
    }

    /// Makes an object if it is not there.
    private static func making(
        _ object: ObjectID,
        type: String = "item",
        under parent: ObjectID? = nil
    ) -> Transaction.Step {
        .create(Transaction.Creation(id: .given(object), type: type, parent: parent))
    }

    /// Makes an object if it is not there, and steps do that.
    private func making(_ object: ObjectID) -> [Transaction.Step] {
        self.makesObjects ? [Workload.making(object)] : []
    }

    private mutating func newObject() -> ObjectID {
        defer { self.nextObject += 1 }
        return Workload.object(self.nextObject)
    }

    package static func name(_ property: Int) -> String {
        Workload.propertyNames[property % Workload.propertyNames.count]
    }

    /// A value that is written once.
    private mutating func nextValue() -> Value {
        self.values += 1
        // Some are long, so that the room on a connection and in a run comes to its end, and cannot be compressed.
        let byteCount = self.values % 16 == 0 ? 4_000 : self.values % 4 == 0 ? 1_000 : 0
        var noise = LossGenerator(seed: self.values)
        return .string("value \(self.values) " + Hexadecimal.text(noise.bytes(byteCount)))
    }
}

extension World {
    package func write(_ steps: [WorkStep], on machine: Machine) {
        guard machine.isUp else { return }
        let request = self.work.request(steps, as: machine.program.context(on: nil))
        self.handle(machine, .write([request]))
        self.noteAction(of: request, on: machine)
        self.noteSecrets(steps, of: request, on: machine)
    }

    /// Takes note of what somebody has written for himself alone.
    private func noteSecrets(_ steps: [WorkStep], of request: WriteRequest, on machine: Machine) {
        guard self.isShared, self.acknowledged?.request == request.id else { return }
        for case .assign(let object, let name, let text) in steps where text.hasPrefix(Secrets.prefix) {
            self.oracles.secrets.wrote(text, to: name, of: Workload.object(object), on: machine)
        }
    }

    /// Takes note of a write that was acknowledged: those that follow may belong to its action.
    func noteAction(of request: WriteRequest, on machine: Machine) {
        guard let (id, receipt) = self.acknowledged, id == request.id else { return }
        machine.program.note(receipt, on: request.branch)
    }

    /// A machine's user says that the clock is right.
    func restamp(_ machine: Machine) {
        guard machine.isUp, machine.hostile == nil else { return }
        self.record.count(.restampAsked)
        let request = self.work.nextRequestID()
        self.restampRequest = request
        // Nobody says so of a clock that is wrong.
        let isRight = machine.clock.millisecondsWrong(at: self.time) <= HybridClock.skewMaxMilliseconds
        self.handle(machine, .restamp(request, isClockRight: isRight))
    }

    func answered(_ request: RequestID, _ result: Result<WriteReceipt, WriteRefusal>, of machine: Machine) {
        guard case .success(let receipt) = result else { return }
        self.work.acknowledgedCount += 1
        self.acknowledged = (request, receipt)
        guard let dot = receipt.dot else { return }
        if request == self.restampRequest { self.record.mark(.restampedWhenAsked) }
        self.record.operationCount += receipt.operationCount
        self.hash.note("answer", machine: machine.number, at: self.time, request.rawValue, dot.sequence)
        self.oracles.wrote(dot, on: machine, in: self)
        if self.isFaulty, self.oracles.versions.isNextDue() { self.recordVersion(of: machine) }
    }
}
