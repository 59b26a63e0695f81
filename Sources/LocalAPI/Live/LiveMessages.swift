internal import CRDTCore

/// The messages of `/ws/sync` that the server sends; a delta is a ``DeltaAnswer`` with a head.
struct MessageHead: Answer {
    var type: String
    /// That of the subscription.
    var id: Int
}

struct Hello: Answer {
    var type = "hello"
    var version: String
    var workspace: String
    var deviceName: String
}

struct Pong: Answer {
    var type = "pong"
}

struct LivePage: Answer {
    var type = "page"
    var id: Int
    var objects: [ObjectAnswer]
    var more: Bool
}

struct LiveStatus: Answer {
    var type = "status"
    var id: Int
    var status: StatusAnswer
}

/// That a write is on the disk.
struct Acknowledgement: Answer {
    var type = "ack"
    var id: String
    var durable = true
    var created: [String]
}

struct LiveProblem: Answer {
    var type = "error"
    /// The id of the message, if it had one.
    var id: JSON
    var problem: Problem
}
