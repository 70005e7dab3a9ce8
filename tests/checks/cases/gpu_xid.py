from tests.checks.case import Unreadable, fires, silent

XID = {"bus_id": "0000:53:00.0", "xid": 79, "count": 1, "last": "GPU has fallen off the bus."}

ACTION = "GPU recovery action changed from 0x0 (None) to 0x1 ({})"

CASES = (
    fires("a100", {"node-1/driver/xids": [XID]}, node="node-1", saw="Xid 79"),
    fires("a100", {"node-1/driver/xids": [{**XID, "xid": 143}]}, node="node-1", saw="Xid 143"),
    fires("a100", {"node-1/driver/xids": [{**XID, "xid": 154, "last": ACTION.format("GPU Reset Required")}]}),
    silent("a100", {"node-1/driver/xids": [{**XID, "xid": 154, "last": ACTION.format("None")}]}),
    silent("a100", {"node-1/driver/xids": [{**XID, "xid": 13}]}),
    silent("a100", {"node-1/driver/xids": Unreadable("dmesg: Operation not permitted")}),
)
