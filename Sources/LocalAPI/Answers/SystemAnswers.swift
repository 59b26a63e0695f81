internal import Engine
internal import NIOHTTP1
internal import PeerdKit

/// The program, and what it takes.
struct ServerInfo: Answer {
    var name = "peerd"
    var version: String
    var platform: String
    var workspace: String
    var device: String
    var deviceName: String
    var listen: String?
    var origins: [String]
    var files: String
    var allowedPaths = ["/api/file/", "/audio/"]
    var limits = Limits()

    struct Limits: Answer {
        var bodyBytes = APILimits.bodyByteCountMax
        var importBytes = APILimits.importByteCountMax
        var messageBytes = APILimits.messageByteCountMax
        var pageObjects = APILimits.pageCountMax
        var transactionEdits = APILimits.editCountMax
    }

    init(_ server: ServerDescription, _ node: NodeStatus) {
        (self.version, self.platform) = (server.version, server.platform)
        (self.workspace, self.device) = (node.workspace.description, node.device.description)
        (self.deviceName, self.listen) = (node.deviceName, server.listen?.description)
        (self.origins, self.files) = (server.origins, server.filesDirectory)
    }
}

package struct HealthAnswer: Answer {
    var status = "ok"
}

/// A link that lets a browser in.
package struct LinkAnswer: Answer {
    package var url: String
}

/// The browsers that are signed in.
package struct SessionList: Answer {
    package var sessions: [SessionAnswer]
}

/// A browser that a link has let in.
package struct SessionAnswer: Answer {
    package var id: String
    /// What it calls itself.
    package var agent: String
    package var begunMs: Int64
    package var lastAskedMs: Int64
    /// How many WebSockets it has open.
    package var connections: Int
    /// Whether it is the one that asks.
    package var current: Bool
}

/// A line that lets a machine join.
package struct InviteAnswer: Answer {
    package var invite: String
    package var addresses: [String]
    package var port: Int
    package var lifetimeMs: Int
    package var endsOldest: Bool
    package var qr: Code?

    /// The modules of a QR code, a text of 0 (light) and 1 (dark) for each row.
    package struct Code: Answer {
        package var size: Int
        package var rows: [String]

        init(_ code: QRCode) {
            self.size = code.size
            let side = 0..<code.size
            self.rows = side.map { row in side.map { code[row, $0] ? "1" : "0" }.joined() }
        }
    }

    init(_ invite: Invite, endsOldest: Bool) {
        (self.invite, self.addresses, self.port) = (invite.text, invite.addresses, Int(invite.port))
        (self.lifetimeMs, self.endsOldest) = (Int(Invite.lifetimeMilliseconds), endsOldest)
        self.qr = QRCode(text: invite.text).map { Code($0) }
    }
}

/// A folder of files.
struct FolderAnswer: Answer {
    var entries: [Entry]
    var next: String?

    struct Entry: Answer {
        var name: String
        var isFolder: Bool
        var size: Int64
        var modifiedMs: Int64
    }
}

/// How far long work is.
package struct ProgressLine: Answer {
    package var progress: String
}

/// How an answer breaks off.
package struct ProblemLine: Answer {
    package var problem: Problem
}
